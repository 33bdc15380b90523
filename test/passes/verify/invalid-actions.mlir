// RUN: tandem-opt %s --tandem-verify-phase=phase=3 -split-input-file -verify-diagnostics

// Actions, pools and a schedule belong together.
// expected-error @below {{'tandem.actions': expected an array of names, with integer arrays 'tandem.pools' and 'tandem.schedule'}}
func.func @names() attributes {tandem.actions = ["prologue", "epilogue"]} {
  return
}

// -----

// expected-error @below {{'tandem.pools' has 1 entries, expected one for each of 2 actions}}
func.func @pools() attributes {tandem.actions = ["prologue", "epilogue"], tandem.pools = array<i64: -1>, tandem.schedule = array<i64: 0, 0, 0, 1, 0, 0>} {
  return
}

// -----

// expected-error @below {{'tandem.schedule' has 5 numbers, expected triples of action, microbatch and slot}}
func.func @triples() attributes {tandem.actions = ["prologue", "epilogue"], tandem.pools = array<i64: -1, -1>, tandem.schedule = array<i64: 0, 0, 0, 1, 0>} {
  return
}

// -----

// expected-error @below {{'tandem.schedule' has action 2 of microbatch 0 in slot 0, expected an action below 2 and no negative number}}
func.func @range() attributes {tandem.actions = ["prologue", "epilogue"], tandem.pools = array<i64: -1, -1>, tandem.schedule = array<i64: 0, 0, 0, 2, 0, 0>} {
  return
}

// -----

// expected-error @below {{'tandem.schedule' has action 1 of microbatch 0 in slot 0 twice}}
func.func @twice() attributes {tandem.actions = ["prologue", "forward.0", "epilogue"], tandem.pools = array<i64: -1, 0, -1>, tandem.schedule = array<i64: 0, 0, 0, 1, 0, 0, 1, 0, 0, 2, 0, 0>} {
  return
}

// -----

// A microbatch takes the actions of a stage in their order.
// expected-error @below {{'tandem.schedule' has action 1 of microbatch 0 in slot 0 behind action 2 of that microbatch}}
func.func @order() attributes {tandem.actions = ["prologue", "forward.0", "backward.0", "epilogue"], tandem.pools = array<i64: -1, 0, 0, -1>, tandem.schedule = array<i64: 0, 0, 0, 2, 0, 0, 1, 0, 0, 3, 0, 0>} {
  return
}

// -----

// expected-error @below {{'tandem.schedule' lacks action 2 ('backward.0') of microbatch 1}}
func.func @lacks() attributes {tandem.actions = ["prologue", "forward.0", "backward.0", "epilogue"], tandem.pools = array<i64: -1, 0, 0, -1>, tandem.schedule = array<i64: 0, 0, 0, 1, 0, 0, 1, 1, 1, 2, 0, 0, 3, 0, 0>} {
  return
}

// -----

// Two microbatches that are under way do not share a slot.
// expected-error @below {{'tandem.schedule' has action 1 of microbatch 1 in slot 0, whose slot microbatch 0 still needs}}
func.func @slots() attributes {tandem.actions = ["prologue", "forward.0", "backward.0", "epilogue"], tandem.pools = array<i64: -1, 0, 0, -1>, tandem.schedule = array<i64: 0, 0, 0, 1, 0, 0, 1, 1, 0, 2, 0, 0, 2, 1, 0, 3, 0, 0>} {
  return
}

// -----

!t = tensor<4xf32, #tandem.local<[4], @mesh, [{}]>>
tandem.mesh @mesh = <["pp"=2]>
func.func @unmarked(%x: !t) -> !t attributes {tandem.actions = ["prologue", "epilogue"], tandem.pools = array<i64: -1, -1>, tandem.schedule = array<i64: 0, 0, 0, 1, 0, 0>} {
  // expected-error @below {{has no 'tandem.action', its function has actions}}
  %0 = tandem.unary exp, %x : !t
  return %0 : !t
}

// -----

!t = tensor<4xf32, #tandem.local<[4], @mesh, [{}]>>
tandem.mesh @mesh = <["pp"=2]>
func.func @backwards(%x: !t) -> !t attributes {tandem.actions = ["prologue", "epilogue"], tandem.pools = array<i64: -1, -1>, tandem.schedule = array<i64: 0, 0, 0, 1, 0, 0>} {
  %0 = tandem.unary exp, %x {tandem.action = 1 : i64} : !t
  // expected-error @below {{attribute 'tandem.action' is 0, expected 1 to 1, in order}}
  %1 = tandem.unary exp, %0 {tandem.action = 0 : i64} : !t
  return %1 : !t
}
