#include <dflat.h>
