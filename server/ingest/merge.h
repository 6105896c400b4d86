// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "server/core/events.h"

namespace stepcurve {

// Adds `later` to `earlier`, events of the same attempt in the order they came, so that one flush sees one.
//
// What repeats is dropped: points at or before the last one of `earlier`, and all that follows an ending. Streams are
// queued in order, so whatever a dropped point's predecessors were, they are already stored or in front of it.
//
// False, and nothing is changed, where the two do not have the same number of metrics.
bool MergeInto(AttemptEvents& earlier, AttemptEvents&& later);

// What an event costs a queue.
size_t BytesOf(const AttemptEvents& events);

}  // namespace stepcurve
