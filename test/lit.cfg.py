# What all lit tests share. Sites come from lit.site.cfg.py, which CMake
# writes; tests are found in the source tree, their output lies in the build.
import os

import lit.formats
import lit.util

config.name = "Tandem"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "unit"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.tandem_test_output

# Tools of this build first, FileCheck and not from LLVM.
config.environment["PATH"] = os.pathsep.join(
    [config.tandem_tools, config.llvm_tools, config.environment["PATH"]]
)
config.substitutions.append(("%assets", config.tandem_assets))
if os.path.isdir(config.tandem_assets):
    config.available_features.add("assets")
