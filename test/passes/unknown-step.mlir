// RUN: not tandem-opt %s --tandem-compile=to=partition-modul 2>&1 | FileCheck %s
// RUN: not tandem-opt %s --tandem-shard=from=nothing 2>&1 | FileCheck %s --check-prefix=FROM

// CHECK: no step 'partition-modul'; the steps are differentiate
// CHECK-SAME: did you mean 'partition-module'?
// FROM: no step 'nothing'; the steps are differentiate
module {
}
