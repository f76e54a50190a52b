/*
 * Numbers of loop frames as rendezvous keys have them (TensorFlow since 2.3); both ends of a loop over several tasks compute
 * them for themselves.
 */
#ifndef RUN_FRAME_ID_H
#define RUN_FRAME_ID_H

#include <stddef.h>
#include <stdint.h>

/* The id of a frame entered in iteration parent_iteration of the frame parent_id. The root's id is 0. */
uint64_t weir_frame_id(uint64_t parent_id, uint64_t parent_iteration, const char *name);

/* MurmurHash2-64A with TensorFlow's seed. */
uint64_t weir_hash64(const char *data, size_t size);

#endif
