int check();

int main() {
  return check();
}
