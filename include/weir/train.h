/*
 * The training library: variables, layers, optimizers, averages, savers, evaluation. It is written against the rest of
 * the public API alone, as a program could have written it.
 */
#ifndef WEIR_TRAIN_H
#define WEIR_TRAIN_H

#include <weir/train/evaluation.h>
#include <weir/train/layers.h>
#include <weir/train/optimizers.h>
#include <weir/train/program.h>
#include <weir/train/saver.h>
#include <weir/train/towers.h>
#include <weir/train/variables.h>

#endif
