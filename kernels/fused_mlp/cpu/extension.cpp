// One translation unit: most of the build's time is reading torch's headers, so they are read once.
#include "../gated_mlp/cpu.cpp"
#include "../linear/cpu.cpp"
#include "../mlp/cpu.cpp"
#include "pack.cpp"
#include "policy.cpp"
