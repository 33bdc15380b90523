// RUN: tandem-opt %s --tandem-lower-to-exec --tandem-assign-streams -split-input-file | FileCheck %s

// The sends of a middle stage, each kind on a stream of its own. Activations
// are waited for in backward, gradients in forward, behind the receives there,
// and both at the end of the body.
!t = tensor<16xf32, #tandem.local<[16], @mesh, [{}]>>
tandem.mesh @mesh = <["pp"=3]>
// CHECK-LABEL: func.func @middle(
// CHECK: tandem.record 2 on 2 {tandem.action = 0
// CHECK: tandem.communicate "recv" ins() outs(%[[X:[0-9a-z]+]] :
// CHECK-NEXT: tandem.wait 2 on 0 for(%[[D:[0-9a-z]+]] : {{.*}}) {tandem.action = 1
// CHECK: tandem.launch "map" ins(%[[X]] : {{.*}}) outs(%[[Y:[0-9a-z]+]] :
// CHECK-NEXT: tandem.record 1 on 0 {tandem.action = 1
// CHECK-NEXT: tandem.wait 1 on 1 {tandem.action = 1
// CHECK-NEXT: tandem.communicate "send" ins(%[[Y]] : {{.*}}stream = 1 : i64
// CHECK-NEXT: tandem.record 0 on 1 {tandem.action = 1
// CHECK: tandem.communicate "recv"
// CHECK-NEXT: tandem.wait 0 on 0 for(%[[Y]] : {{.*}}) {tandem.action = 2
// CHECK: outs(%[[D]] :
// CHECK-NEXT: tandem.record 3 on 0
// CHECK-NEXT: tandem.wait 3 on 2
// CHECK-NEXT: tandem.communicate "send" ins(%[[D]] : {{.*}}stream = 2 : i64
// CHECK-NEXT: tandem.record 2 on 2
// CHECK-DAG: tandem.wait 0 on 0 {tandem.action = 3
// CHECK-DAG: tandem.wait 2 on 0 {tandem.action = 3
// CHECK: return
func.func @middle() attributes {tandem.entry = "f", tandem.pp = 1 : i64,
    tandem.actions = ["prologue", "forward.1", "backward.1", "epilogue"], tandem.pools = array<i64: -1, 0, 0, -1>,
    tandem.schedule = array<i64: 0, 0, 0, 1, 0, 0, 1, 1, 1, 2, 0, 0, 2, 1, 1, 3, 0, 0>} {
  %0 = tandem.recv from 0 {tandem.action = 1 : i64} : !t
  %1 = tandem.unary exp, %0 {tandem.action = 1 : i64} : !t
  tandem.send %1 to 2 {tandem.action = 1 : i64} : !t
  %2 = tandem.recv from 2 {tandem.action = 2 : i64} : !t
  %3 = tandem.binary mul, %2, %0 {tandem.action = 2 : i64} : !t
  tandem.send %3 to 0 {tandem.action = 2 : i64} : !t
  return
}

// -----

// A body that runs once is a straight line.
!t = tensor<16xf32, #tandem.local<[16], @mesh, [{}]>>
tandem.mesh @mesh = <["pp"=2]>
// CHECK-LABEL: func.func @once(
// CHECK-NOT: tandem.record
// CHECK: tandem.communicate "send"
// CHECK-NOT: stream
// CHECK: return
func.func @once(%x: !t {tandem.input = "x"}) attributes {tandem.entry = "f", tandem.pp = 0 : i64} {
  tandem.send %x to 1 : !t
  return
}
