//===- Settings.h - `--set key=value` ---------------------------*- C++ -*-===//
//
// Settings of a model overridden before anything is read.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_FRONTEND_SETTINGS_H
#define TANDEM_FRONTEND_SETTINGS_H

#include "frontend/Architecture.h"

namespace tandem {

/// Applies `key=value` settings to the configuration in order. A key that
/// neither the configuration nor the family knows is refused.
Status applySettings(const Architecture &family,
                     const std::vector<std::string> &settings,
                     ModelFiles &model);

} // namespace tandem

#endif // TANDEM_FRONTEND_SETTINGS_H
