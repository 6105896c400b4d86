// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace stepcurve {

// First statement of every transaction on the hot path. Its statements are driven by sorted ids, and locks are taken in
// the order of the ids only if the plan is a nested loop over them; nor may statistics of a table that was empty a minute
// ago turn a thousand look-ups into a scan. The page cost keeps the index on the inner side for small tables too.
inline constexpr char kPinPlans[] =
    "SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; "
    "SET LOCAL enable_bitmapscan = off; SET LOCAL enable_material = off; SET LOCAL random_page_cost = 0.01; "
    "SET LOCAL jit = off";

}  // namespace stepcurve
