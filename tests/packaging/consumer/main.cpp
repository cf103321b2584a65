#include "tensor/create.h"

int main() {
  return tessera::ones({2, 3}).count() == 6 ? 0 : 1;
}
