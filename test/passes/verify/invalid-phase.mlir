// RUN: tandem-opt %s --tandem-verify-phase=phase=5 -verify-diagnostics

// expected-error @below {{option 'phase' is 5, expected 1 to 4}}
module {
}
