#include "models/pages/profile_page.h"

#include "tensor/autograd/tape.h"
#include "tensor/create.h"
#include "tensor/module_path.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/unary.h"
#include "tests/support/file_support.h"
#include "tests/support/test.h"

#include <chrono>
#include <thread>

namespace tessera::pages {
namespace {

using namespace test;

std::string html_of(Profile& profile, const std::string& title = "Time") {
  const TemporaryFolder folder;
  write_profile_page(folder.path() / "profile.html", profile, title);
  return folder.read("profile.html");
}

void sleep_ms(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

/// The share in the box of this title, which is in the box `outer`, in percent.
double share_of(const std::string& html, const std::string& title, const std::string& outer) {
  const std::size_t place =
      html.find("title=\"" + title + ": ", html.find("title=\"" + outer + ": "));
  if (place == std::string::npos) return -1;
  return std::stod(html.substr(place + title.size() + 9));
}

TEST(ProfilePage, HasABoxForEachModuleAndOp) {
  Profile profile;
  Tensor x = zeros({4}).set_requires_grad();
  Tape tape;
  Tensor y;
  for (index_t i = 0; i < 2; ++i) {
    const ModulePath layer("layers", i);
    const ModulePath part("self_attn");
    y = exp(x);
    sleep_ms(i == 0 ? 60 : 20);
  }
  tape.backward(sum(y));
  sleep_ms(20);  // in no module
  profile.stop();
  const std::string html = html_of(profile, "<time>");
  EXPECT_TRUE(contains(html, "<h1>&lt;time&gt;</h1>"));
  const double first = share_of(html, "self_attn", "layers.0");
  EXPECT_NEAR(first, 75, 15);
  EXPECT_NEAR(share_of(html, "self_attn", "layers.1"), 25, 15);
  EXPECT_NEAR(share_of(html, "layers.0", "forward"), first, 1);
  EXPECT_GT(share_of(html, "forward", "forward"), 90);
  EXPECT_LT(html.find("title=\"forward"), html.find("title=\"backward"));
  EXPECT_TRUE(contains(html, "<th scope=\"row\">layers.*.self_attn</th><td>-</td>"));
}

TEST(ProfilePage, ShowsAProgramWithoutSteps) {
  Profile profile;
  const std::string html = html_of(profile);
  EXPECT_TRUE(contains(html, "self times of the main thread -"));
  EXPECT_FALSE(contains(html, "class=\"box\""));
}

TEST(ProfilePage, WritesNamesAsText) {
  Profile profile;
  {
    const ProfileScope scope("<a & b>");
    sleep_ms(5);
  }
  const std::string html = html_of(profile);
  EXPECT_TRUE(contains(html, "title=\"&lt;a &amp; b&gt;: 100.0 % of the time"));
  EXPECT_FALSE(contains(html, "<a & b>"));
}

}  // namespace
}  // namespace tessera::pages
