/* placeholder */
#include "kernel/cpu/convolution_routes.h"
bool weir_convolution_images_better(const weir_convolution_plan *plan)
{
    (void)plan;
    return false;
}
void weir_convolution_images_prepare(weir_convolution_plan *plan)
{
    (void)plan;
}
void weir_convolution_images_run(weir_convolution_context *run, weir_team *team, void *scratch)
{
    (void)run;
    (void)team;
    (void)scratch;
}
