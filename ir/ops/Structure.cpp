#include "ir/Dialect.h"
