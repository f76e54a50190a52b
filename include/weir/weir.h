/*
 * All of Weir for programs.
 */
#ifndef WEIR_WEIR_H
#define WEIR_WEIR_H

#include <weir/checkpoint.h>
#include <weir/flags.h>
#include <weir/gradients.h>
#include <weir/graph.h>
#include <weir/log.h>
#include <weir/mnist.h>
#include <weir/ops.h>
#include <weir/session.h>
#include <weir/status.h>
#include <weir/tensor.h>
#include <weir/train.h>
#include <weir/types.h>
#include <weir/version.h>

#endif
