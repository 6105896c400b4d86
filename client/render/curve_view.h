// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "client/render/rows.h"
#include "stepcurve/v1/curve_service.pb.h"

namespace stepcurve {

// One row per batch size of every curve in JSON and CSV, whose columns are only ever added to, at the end; a table per
// curve for people.
void PrintCurves(const v1::GetCurveResponse& curves, Format format, std::ostream* out);

// "edge learning_rate high; above both neighbours": what a reader of the point should know, for people.
std::string PointNotes(const v1::Curve& curve, int point);

// "all points exact" or how many are and why the others are not.
std::string CertaintyText(const v1::Curve& curve);

// What the curve is taken over: "semantics published", "all trials of each study", "space 9f3a (2 dims)",
// "grid geometric 1.05", in this order.
std::vector<std::string> CurveTerms(const v1::Curve& curve);

}  // namespace stepcurve
