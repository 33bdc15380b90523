// RUN: tandem-opt %s --tandem-propagate-shardings --tandem-insert-reshards --tandem-partition-module 2>/dev/null | FileCheck %s

tandem.mesh @mesh = <["x"=2, "y"=4]>

// A norm over a split dimension: one sum a row is exchanged; the lanes stay
// where they are and the weight is taken apart for nothing.
// CHECK-LABEL: func.func @rms
// CHECK-NOT:     all_gather
// CHECK:         %[[S:.*]] = tandem.binary mul, %arg0, %arg0
// CHECK:         %[[R:.*]] = tandem.reduce sum, %[[S]] [2] {{.*}} -> tensor<3x5xf32, #tandem.local<[3, 5], @mesh, [{}, {}], unreduced={"x"}>>
// CHECK-NEXT:    tandem.all_reduce %[[R]] over <"x"> cause "reduction of rms_norm"
// CHECK:         tandem.unary rsqrt
// CHECK:         return {{.*}} : tensor<3x5x10xf32, #tandem.local<[3, 5, 20], @mesh, [{}, {}, {"x"}]>>
func.func @rms(%x: tensor<3x5x20xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {}, {"x"}]>}, %w: tensor<20xf32>)
    -> (tensor<3x5x20xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {}, {"x"}]>}) {
  %0 = tandem.rms_norm %x, %w {epsilon = 1.0e-5 : f64} : (tensor<3x5x20xf32>, tensor<20xf32>) -> tensor<3x5x20xf32>
  return %0 : tensor<3x5x20xf32>
}

// Statistics are float32 whatever the elements are, and the weight is 1 + w.
// CHECK-LABEL: func.func @narrow
// CHECK:         %[[X:.*]] = tandem.cast %arg0 {{.*}} -> tensor<3x10xf32,
// CHECK:         tandem.all_reduce {{.*}} -> tensor<3xf32,
// CHECK:         tandem.cast %arg1 : (tensor<10xbf16, {{.*}} -> tensor<10xf32,
// CHECK:         tandem.sum
// CHECK:         tandem.cast {{.*}} -> tensor<3x10xbf16,
// CHECK-NEXT:    return
func.func @narrow(%x: tensor<3x20xbf16> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"x"}]>},
                  %w: tensor<20xbf16> {tandem.sharding = #tandem.sharding<@mesh, [{"x"}]>})
    -> (tensor<3x20xbf16> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"x"}]>}) {
  %0 = tandem.rms_norm %x, %w {epsilon = 1.0e-5 : f64, weight_offset = 1.0 : f64} : (tensor<3x20xbf16>, tensor<20xbf16>) -> tensor<3x20xbf16>
  return %0 : tensor<3x20xbf16>
}

// The mean first, then the variance of what is left of it.
// CHECK-LABEL: func.func @layer
// CHECK-NOT:     all_gather
// CHECK:         tandem.reduce sum, %arg0 [1]
// CHECK:         tandem.all_reduce {{.*}} over <"y"> cause "reduction of layer_norm"
// CHECK:         %[[C:.*]] = tandem.binary sub, %arg0
// CHECK:         tandem.binary mul, %[[C]], %[[C]]
// CHECK:         tandem.all_reduce {{.*}} over <"y"> cause "reduction of layer_norm"
// CHECK-NOT:     all_reduce
// CHECK:         return
func.func @layer(%x: tensor<5x18xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"x"}, {"y"}]>}, %w: tensor<18xf32>, %b: tensor<18xf32>)
    -> (tensor<5x18xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %0 = tandem.layer_norm %x, %w, %b {epsilon = 1.0e-5 : f64} : (tensor<5x18xf32>, tensor<18xf32>, tensor<18xf32>) -> tensor<5x18xf32>
  return %0 : tensor<5x18xf32>
}

// CHECK-LABEL: func.func @softmax
// CHECK:         tandem.reduce max, %arg0 [1] {{.*}} unreduced={"y"}, max>>
// CHECK-NEXT:    tandem.all_reduce {{.*}} over <"y"> cause "reduction of softmax"
// CHECK:         tandem.unary exp
// CHECK-NEXT:    tandem.reduce sum
// CHECK-NEXT:    tandem.all_reduce {{.*}} over <"y"> cause "reduction of softmax"
// CHECK:         tandem.binary div
func.func @softmax(%x: tensor<5x18xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"y"}]>})
    -> (tensor<5x18xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"y"}]>}) {
  %0 = tandem.softmax %x : tensor<5x18xf32>
  return %0 : tensor<5x18xf32>
}

// A maximum, a sum and the label's logit of each row: logits stay where they
// are, of which their gradient needs no more.
// CHECK-LABEL: func.func @loss
// CHECK-NOT:     all_gather
// CHECK:         tandem.reduce max, %arg0 [1] {{.*}} unreduced={"y"}, max>>
// CHECK-NEXT:    tandem.all_reduce {{.*}} over <"y"> cause "reduction of cross_entropy"
// CHECK:         tandem.unary exp
// CHECK-NEXT:    tandem.reduce sum
// CHECK-NEXT:    tandem.all_reduce {{.*}} over <"y"> cause "reduction of cross_entropy"
// CHECK:         tandem.gather %arg0, {{.*}} -> tensor<5xf32, #tandem.local<[5], @mesh, [{}], unreduced={"y"}>>
// CHECK-NEXT:    tandem.all_reduce {{.*}} over <"y"> cause "reduction of cross_entropy"
// CHECK-NOT:     all_reduce
// CHECK:         tandem.cross_entropy_grad {{.*}} -> tensor<5x5xf32, #tandem.local<[5, 18], @mesh, [{}, {"y"}]>>
func.func @loss(%x: tensor<5x18xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"y"}]>}, %l: tensor<5xi32>, %g: tensor<5xf32>)
    -> (tensor<5xf32>, tensor<5x18xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"y"}]>}) {
  %0:2 = tandem.cross_entropy %x, %l : (tensor<5x18xf32>, tensor<5xi32>) -> (tensor<5xf32>, tensor<5xf32>)
  %1 = tandem.cross_entropy_grad %x, %l, %0#1, %g : (tensor<5x18xf32>, tensor<5xi32>, tensor<5xf32>, tensor<5xf32>) -> tensor<5x18xf32>
  return %0#0, %1 : tensor<5xf32>, tensor<5x18xf32>
}

// Two sums a row; the weight's gradient stays in pieces.
// CHECK-LABEL: func.func @rmsGradient
// CHECK-NOT:     all_gather
// CHECK-COUNT-2: tandem.all_reduce {{.*}} -> tensor<5xf32, {{.*}}
// CHECK-NOT:     all_reduce
// CHECK:         return {{.*}} : tensor<5x5xf32, {{.*}}, tensor<5xf32, #tandem.local<[18], @mesh, [{"y"}]>>
func.func @rmsGradient(%x: tensor<5x18xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"y"}]>}, %w: tensor<18xf32>, %dy: tensor<5x18xf32>)
    -> (tensor<5x18xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"y"}]>},
        tensor<18xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"y"}]>}) {
  %0:2 = tandem.rms_norm_grad %x, %w, %dy {epsilon = 1.0e-5 : f64} : (tensor<5x18xf32>, tensor<18xf32>, tensor<5x18xf32>) -> (tensor<5x18xf32>, tensor<18xf32>)
  return %0#0, %0#1 : tensor<5x18xf32>, tensor<18xf32>
}

// CHECK-LABEL: func.func @layerGradient
// CHECK-NOT:     all_gather
// CHECK-COUNT-4: tandem.all_reduce {{.*}} -> tensor<5xf32, {{.*}}
// CHECK-NOT:     all_reduce
// CHECK:         return
func.func @layerGradient(%x: tensor<5x18xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"y"}]>}, %w: tensor<18xf32>, %dy: tensor<5x18xf32>)
    -> (tensor<5x18xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"y"}]>},
        tensor<18xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"y"}]>},
        tensor<18xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"y"}]>}) {
  %0:3 = tandem.layer_norm_grad %x, %w, %dy {epsilon = 1.0e-5 : f64} : (tensor<5x18xf32>, tensor<18xf32>, tensor<5x18xf32>) -> (tensor<5x18xf32>, tensor<18xf32>, tensor<18xf32>)
  return %0#0, %0#1, %0#2 : tensor<5x18xf32>, tensor<18xf32>, tensor<18xf32>
}

// Rows of two bfloat16 are less than a float32 statistic of each.
// CHECK-LABEL: func.func @shortRows
// CHECK:         tandem.all_gather %arg0 over <"x"> dim 1 cause "rms_norm operand"
// CHECK-NEXT:    tandem.rms_norm
func.func @shortRows(%x: tensor<64x2xbf16> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"x"}]>}, %w: tensor<2xbf16>) -> tensor<64x2xbf16> {
  %0 = tandem.rms_norm %x, %w {epsilon = 1.0e-5 : f64} : (tensor<64x2xbf16>, tensor<2xbf16>) -> tensor<64x2xbf16>
  return %0 : tensor<64x2xbf16>
}

// The last position of a split sequence: all but one rank give zeros.
// CHECK-LABEL: func.func @last
// CHECK-NEXT:    %[[L:.*]] = tandem.slice %arg0 {{.*}} -> tensor<2x1x6xf32, #tandem.local<[2, 1, 6], @mesh, [{}, {}, {}], unreduced={"y"}>>
// CHECK-NEXT:    tandem.all_reduce %[[L]] over <"y"> cause "reduction of slice"
// CHECK-NEXT:    return
func.func @last(%x: tensor<2x11x6xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"y"}, {}]>}) -> tensor<2x1x6xf32> {
  %0 = tandem.slice %x [0, 10, 0] step [1, 1, 1] : (tensor<2x11x6xf32>) -> tensor<2x1x6xf32>
  return %0 : tensor<2x1x6xf32>
}

// Nearly all of it: 288 bytes gathered are less than 504 summed.
// CHECK-LABEL: func.func @most
// CHECK-NEXT:    tandem.all_gather %arg0 over <"y"> dim 0 cause "slice operand"
// CHECK-NEXT:    tandem.slice
// CHECK-NEXT:    return
func.func @most(%x: tensor<8x12xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"y"}, {}]>}) -> tensor<7x12xf32> {
  %0 = tandem.slice %x [1, 0] step [1, 1] : (tensor<8x12xf32>) -> tensor<7x12xf32>
  return %0 : tensor<7x12xf32>
}

// Results of concat and pad are made in pieces.
// CHECK-LABEL: func.func @pieces
// CHECK-NEXT:    tandem.concat {{.*}} -> tensor<3x4xf32, #tandem.local<[11, 4], @mesh, [{"y"}, {}]>>
// CHECK-NEXT:    tandem.pad {{.*}} -> tensor<2x4xf32, #tandem.local<[7, 4], @mesh, [{"y"}, {}]>>
// CHECK-NEXT:    return
func.func @pieces(%a: tensor<5x4xf32>, %b: tensor<6x4xf32>)
    -> (tensor<11x4xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"y"}, {}]>},
        tensor<7x4xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"y"}, {}]>}) {
  %0 = tandem.concat %a, %b {dim = 0 : i64} : (tensor<5x4xf32>, tensor<6x4xf32>) -> tensor<11x4xf32>
  %1 = tandem.pad %a low [1, 0] high [1, 0] value 2.0 : (tensor<5x4xf32>) -> tensor<7x4xf32>
  return %0, %1 : tensor<11x4xf32>, tensor<7x4xf32>
}

// A cache that is split by positions: each rank writes what falls to it.
// CHECK-LABEL: func.func @cache
// CHECK-NEXT:    tandem.update_slice {{.*}} -> tensor<2x3x6xf32, #tandem.local<[2, 9, 6], @mesh, [{}, {"y"}, {}]>>
// CHECK-NEXT:    return
func.func @cache(%c: tensor<2x9x6xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"y"}, {}]>}, %r: tensor<2x4x6xf32>, %p: tensor<2xi32>, %n: tensor<2xi32>) -> tensor<2x9x6xf32> {
  %0 = tandem.update_slice %c, %r, %p, %n : (tensor<2x9x6xf32>, tensor<2x4x6xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x9x6xf32>
  return %0 : tensor<2x9x6xf32>
}
