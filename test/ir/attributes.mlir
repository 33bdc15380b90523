// RUN: tandem-opt %s | tandem-opt | FileCheck %s

// CHECK: tandem.mesh @mesh = <["pp"=2, "dp"=3, "tp"=4]>
tandem.mesh @mesh = <["pp"=2, "dp"=3, "tp"=4]>

// CHECK-LABEL: func.func @shardings
func.func @shardings(
    // CHECK-SAME: tandem.sharding = #tandem.sharding<@mesh, [{"dp"}, {}, {"tp"}]>
    %a: tensor<6x5x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"dp"}, {}, {"tp"}]>},
    // CHECK-SAME: tandem.sharding = #tandem.sharding<@mesh, [{"dp", ?}, {?}]>
    %b: tensor<6x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"dp", ?}, {?}]>},
    // CHECK-SAME: tandem.sharding = #tandem.sharding<@mesh, [{"tp":(1)2}p1, {"tp":(2)2}]>
    %c: tensor<6x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp":(1)2}p1, {"tp":(2)2}]>},
    // CHECK-SAME: tandem.sharding = #tandem.sharding<@mesh, [{}, {}], replicated={"dp"}, unreduced={"tp":(2)2}>
    %d: tensor<6x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {}], replicated={"dp"}, unreduced={"tp":(2)2}>},
    // CHECK-SAME: tandem.sharding = #tandem.sharding<@mesh, [{"dp", "tp", ?}p2, {}]>
    %e: tensor<6x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"dp", "tp", ?}p2, {}]>},
    // CHECK-SAME: tandem.sharding = #tandem.sharding<@mesh, []>
    %f: tensor<f32> {tandem.sharding = #tandem.sharding<@mesh, []>}) {
  return
}

// CHECK-LABEL: func.func @views
func.func @views(
    // CHECK-SAME: tandem.parameter = #tandem.view<"h.0.mlp.c_fc.weight">
    %a: tensor<48x192xf32> {tandem.parameter = #tandem.view<"h.0.mlp.c_fc.weight">},
    // CHECK-SAME: tandem.parameter = #tandem.view<"h.0.attn.c_attn.weight"[48, 144], slice(1, 48, 96), heads(1, 4, 1, 12), transpose(1, 2, 3, 0)>
    %b: tensor<4x1x12x48xf32> {tandem.parameter = #tandem.view<"h.0.attn.c_attn.weight"[48, 144], slice(1, 48, 96), heads(1, 4, 1, 12), transpose(1, 2, 3, 0)>},
    // CHECK-SAME: tandem.parameter = #tandem.view<"blk.0.attn_k.weight"[192, 576] Q4_1, kv_heads(0, 3, 3, 64)>
    %c: tensor<3x64x576xf32> {tandem.parameter = #tandem.view<"blk.0.attn_k.weight"[192, 576] Q4_1, kv_heads(0, 3, 3, 64)>},
    // CHECK-SAME: tandem.parameter = #tandem.view<"a\22b"[6], split(0, 2, 3)>
    %d: tensor<2x3xf32> {tandem.parameter = #tandem.view<"a\22b"[6], split(0, 2, 3)>}) {
  return
}

// CHECK-LABEL: func.func @ports
func.func @ports(
    // CHECK-SAME: tandem.input = "input_ids"
    %ids: tensor<2x5xi32> {tandem.input = "input_ids"},
    // CHECK-SAME: tandem.aliases = 1 : i64
    // CHECK-SAME: tandem.state = "cache.0.key"
    %cache: tensor<2x8xf32> {tandem.state = "cache.0.key", tandem.aliases = 1 : i64})
    // CHECK-SAME: tandem.output = "ids"
    -> (tensor<2x5xi32> {tandem.output = "ids"}, tensor<2x8xf32> {tandem.state = "cache.0.key"}) {
  return %ids, %cache : tensor<2x5xi32>, tensor<2x8xf32>
}

// Three rows of two are what four ranks hold of nine at most.
// CHECK-LABEL: func.func @local
// CHECK-SAME: tensor<3x2xf32, #tandem.local<[9, 2], @mesh, [{"tp"}, {}]>>
// CHECK-SAME: tensor<9x2xf32, #tandem.local<[9, 2], @mesh, [{}, {}], unreduced={"dp"}, min>>
func.func @local(%a: tensor<3x2xf32, #tandem.local<[9, 2], @mesh, [{"tp"}, {}]>>,
                 %b: tensor<9x2xf32, #tandem.local<[9, 2], @mesh, [{}, {}], unreduced={"dp"}, min>>) {
  return
}

// CHECK-LABEL: func.func @others
// CHECK-SAME: test.axes = #tandem.axes<"dp", "tp":(1)2>
// CHECK-SAME: test.buffer = !tandem.buffer<tensor<4xf32>>
// CHECK-SAME: test.rule = #tandem.rule<"(*[i, j], *[k, j]) -> ([i, k]) {i=4, j=8 reduction, k=2}">
func.func @others() attributes {
    test.axes = #tandem.axes<"dp", "tp":(1)2>,
    test.buffer = !tandem.buffer<tensor<4xf32>>,
    test.rule = #tandem.rule<"(*[i, j], *[k, j]) -> ([i, k]) {i=4, j=8 reduction, k=2}">} {
  return
}
