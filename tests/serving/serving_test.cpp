// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <omp.h>

#include <atomic>
#include <chrono>
#include <future>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>

#include "data/images/image.h"
#include "engine/fib_file.h"
#include "engine/graphs.h"
#include "engine/lower.h"
#include "files.h"
#include "serving/http_client.h"
#include "serving/service.h"

namespace fib::serving {
namespace {

using nlohmann::json;
using test::ask;
using test::error_of;
using test::mentions;
using test::Reply;
using test::request_text;

/// A picture, as a file's bytes; pictures of other seeds are others.
std::string picture(int seed = 0) {
  Image image = make_image(20, 16);
  for (size_t i = 0; i < image.pixels.size(); ++i)
    image.pixels[i] = static_cast<uint8_t>((i * 37 + static_cast<size_t>(seed) * 101) % 251);
  const auto bytes = encode_jpeg(image, 90);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Two compiled models of 10 classes for images of 16 pixels.
class Serving : public testing::Test {
 protected:
  Serving() {
    write("first", "fibottention");
    write("second", "full");
  }
  void write(const std::string& name, const std::string& attention) {
    engine::TensorStore tensors;
    engine::FibContent content;
    content.most_samples = 1;
    content.card = {{"model", "mini_vit"}, {"attention", attention}};
    content.programs.push_back(engine::lower(test::transformer(attention), engine::Precision::f32, tensors));
    engine::write_fib(file(name), content, tensors.views());
  }
  std::string file(const std::string& name) const { return directory_ / (name + ".fib"); }
  ServiceOptions options() const {
    return {
        .models = {{.name = "first", .file = file("first"), .engines = 2}, {.name = "second", .file = file("second")}},
        .threads = 2};
  }
  /// What `fib classify --engine` answers for the same picture.
  std::vector<float> logits_alone(const std::string& name, const std::string& bytes) const {
    prediction::EnginePredictor predictor(file(name));
    const Pipeline pipeline(predictor.info().view);
    std::vector<float> input(pipeline.values());
    pipeline.apply(decode_image(std::as_bytes(std::span(bytes)), "picture"), CounterRng(0), input.data());
    return predictor.logits(input);
  }

  test::TemporaryDirectory directory_;
};

Request post(const std::string& path, std::vector<Body> bodies, std::map<std::string, std::string> query = {}) {
  return {"POST", path, std::move(query), std::move(bodies)};
}

TEST_F(Serving, answers_as_classify_with_json) {
  Service service(options());
  const Response response = service.answer(post("/classify", {{"a.jpg", picture()}}, {{"top", "3"}}));
  ASSERT_EQ(response.status, 200) << response.text;
  const json answer = json::parse(response.text);
  ASSERT_EQ(answer.size(), 1U);
  EXPECT_EQ(answer[0]["image"], "a.jpg");
  ASSERT_EQ(answer[0]["top"].size(), 3U);
  const std::vector<float> logits = logits_alone("first", picture());
  for (const json& entry : answer[0]["top"])
    EXPECT_EQ(entry["logit"].get<float>(), logits[entry["class"].get<size_t>()]);  // to the bit
}

TEST_F(Serving, asks_the_model_that_is_named) {
  Service service(options());
  const json first = json::parse(service.answer(post("/classify/first", {{"a", picture()}})).text);
  const json second = json::parse(service.answer(post("/classify/second", {{"a", picture()}})).text);
  EXPECT_NE(first, second);
  EXPECT_EQ(first, json::parse(service.answer(post("/classify", {{"a", picture()}})).text));
  const Response none = service.answer(post("/classify/third", {{"a", picture()}}));
  EXPECT_EQ(none.status, 404);
  EXPECT_TRUE(mentions(none.text, "no model is called 'third'"));
  const json listed = json::parse(service.answer({"GET", "/models"}).text);
  EXPECT_EQ(listed[1]["name"], "second");
  EXPECT_EQ(listed[0]["attention"], "fibottention");
  ServiceOptions twice = options();
  twice.models[1].name = "first";
  EXPECT_TRUE(mentions(error_of([&] { Service other(twice); }), "two models are called 'first'"));
}

TEST_F(Serving, says_which_of_several_images_is_none) {
  Service service(options());
  const Response mixed = service.answer(post("/classify", {{"a.jpg", picture()}, {"b.jpg", "no picture"}}));
  EXPECT_EQ(mixed.status, 200);
  const json answer = json::parse(mixed.text);
  EXPECT_TRUE(answer[0].contains("top"));
  EXPECT_TRUE(mentions(answer[1]["error"], "b.jpg"));
  EXPECT_EQ(service.answer(post("/classify", {{"b.jpg", "no picture"}})).status, 400);
}

TEST_F(Serving, refuses_what_is_out_of_bounds) {
  ServiceOptions bounded = options();
  bounded.most_images = 3;
  bounded.most_waiting = 2;
  bounded.most_pixels = 100;
  Service service(bounded);
  const auto status = [&](const Request& request) { return service.answer(request).status; };
  const Body image{"a", picture()};
  EXPECT_EQ(status(post("/classify", {image, image, image, image})), 413);
  EXPECT_EQ(status(post("/classify", {image, image, image})), 503);  // more than may wait
  EXPECT_EQ(service.images_waiting(), 0);
  EXPECT_EQ(status(post("/classify", {})), 400);
  EXPECT_EQ(status(post("/classify", {image}, {{"top", "0"}})), 400);
  EXPECT_EQ(status({"GET", "/classify"}), 405);
  EXPECT_EQ(status({"GET", "/elsewhere"}), 404);
  EXPECT_TRUE(mentions(service.answer(post("/classify", {image})).text, "100"));  // 320 pixels
}

TEST_F(Serving, gives_up_when_no_engine_is_free_in_time) {
  Cores cores(1);
  ServedModel model({.name = "first", .file = file("first"), .engines = 1}, cores);
  const std::vector<float> input(model.pipeline().values());
  std::optional<Cores::Share> held(std::in_place, cores, 1);
  const auto ask = [&] {
    double seconds = 0;
    return model.logits(input, ServedModel::Clock::now() + std::chrono::milliseconds(200), seconds).has_value();
  };
  // One of them has the engine and waits for a core, so the other's time runs out.
  std::future<bool> one = std::async(std::launch::async, ask), two = std::async(std::launch::async, ask);
  const auto done = [](const std::future<bool>& f) {
    return f.wait_for(std::chrono::milliseconds(10)) == std::future_status::ready;
  };
  while (!done(one) && !done(two)) {
  }
  held.reset();
  EXPECT_NE(one.get(), two.get());
}

TEST(Cores, give_one_image_all_and_several_one_each) {
  Cores cores(4);
  std::optional<Cores::Share> all(std::in_place, cores, 8);
  EXPECT_EQ(all->count(), 4);
  std::atomic<int64_t> sum{0}, threads{0};
  std::vector<std::thread> waiting;
  for (int i = 0; i < 3; ++i)
    waiting.emplace_back([&] {
      ++threads;
      const Cores::Share share(cores, 8);
      sum += share.count();
    });
  while (threads < 3) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  all.reset();
  for (std::thread& thread : waiting) thread.join();
  EXPECT_GE(sum, 3);
  EXPECT_LE(sum, 12);
  EXPECT_EQ(Cores::Share(cores, 1).count(), 1);
  EXPECT_EQ(Cores::Share(cores, 8).count(), 4);  // all were given back
}

TEST(Metrics, are_written_as_prometheus_reads_them) {
  Metrics metrics;
  metrics.answered("vit\"\\\n", 200, 0.02);
  metrics.answered("vit\"\\\n", 503, 7);
  metrics.classified("vit\"\\\n", 3, 0.5);
  const std::string text = metrics.text(2);
  for (const char* line :
       {"fib_requests_total{model=\"vit\\\"\\\\\\n\",code=\"200\"} 1\n",
        "fib_requests_total{model=\"vit\\\"\\\\\\n\",code=\"503\"} 1\n",
        "_bucket{model=\"vit\\\"\\\\\\n\",le=\"0.01\"} 0\n", "\",le=\"0.025\"} 1\n", "\",le=\"5\"} 1\n",
        "\",le=\"+Inf\"} 2\n", "_seconds_sum{model=\"vit\\\"\\\\\\n\"} 7.020000\n",
        "fib_images_total{model=\"vit\\\"\\\\\\n\"} 3\n", "fib_images_waiting 2\n",
        "# TYPE fib_request_duration_seconds histogram\n"})
    EXPECT_TRUE(mentions(text, line));
}

// ---- Over HTTP

/// A service on a port of this host until it goes.
class RunningServer {
 public:
  explicit RunningServer(const ServiceOptions& service, HttpOptions http = {.most_bytes = 100'000})
      : service_(service), ended_(std::async(std::launch::async, [this, http] {
          try {
            serve_http(
                http, [this](const Request& request) { return service_.answer(request); }, cancel_.token(),
                [this](int chosen) { bound_.set_value(chosen); });
          } catch (...) {
            bound_.set_exception(std::current_exception());
          }
        })) {
    port = bound_.get_future().get();
  }
  ~RunningServer() { cancel_.request(); }

  void stop() { cancel_.request(); }
  void wait() { ended_.get(); }
  Service& service() { return service_; }

  int port = 0;

 private:
  Service service_;
  CancelSource cancel_;
  std::promise<int> bound_;
  std::future<void> ended_;
};

TEST_F(Serving, takes_one_image_or_a_form_over_http) {
  RunningServer server(options());
  const Reply one = ask(server.port, request_text("POST", "/classify?top=1", picture()));
  ASSERT_EQ(one.status, 200) << one.body;
  EXPECT_EQ(json::parse(one.body)[0]["top"].size(), 1U);
  // As curl --data-binary calls it; the library takes little of that type.
  const std::string long_one = picture() + std::string(20'000, ' ');
  EXPECT_EQ(ask(server.port, request_text("POST", "/classify", long_one, "application/x-www-form-urlencoded")).status,
            200);
  const std::string part = "--x\r\nContent-Disposition: form-data; name=\"", end = "\r\n";
  const std::string form = part + "a\"; filename=\"one.jpg\"\r\n\r\n" + picture(1) + end + part +
                           "b\"; filename=\"two.jpg\"\r\n\r\n" + picture(2) + end + "--x--\r\n";
  const Reply two = ask(server.port, request_text("POST", "/classify/second", form, "multipart/form-data; boundary=x"));
  ASSERT_EQ(two.status, 200) << two.body;
  EXPECT_EQ(json::parse(two.body)[1]["image"], "two.jpg");
  EXPECT_EQ(ask(server.port, request_text("GET", "/health")).body, "{\"status\":\"ok\"}\n");
  const Reply page = ask(server.port, request_text("GET", "/"));
  EXPECT_TRUE(mentions(page.body, "Drop images here"));
  EXPECT_TRUE(mentions(page.head, "text/html"));
  EXPECT_TRUE(mentions(ask(server.port, request_text("GET", "/metrics")).body,
                       "fib_requests_total{model=\"second\",code=\"200\"} 1"));
}

TEST_F(Serving, refuses_a_body_that_is_too_long_and_a_port_that_is_taken) {
  RunningServer server(options());
  const Reply reply = ask(server.port, request_text("POST", "/classify", std::string(200'000, 'x')));
  EXPECT_EQ(reply.status, 413);
  // A body without a length is counted as it comes.
  std::string chunked = "POST /classify HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 20; ++i) chunked += "2710\r\n" + std::string(10'000, 'x') + "\r\n";
  EXPECT_EQ(ask(server.port, chunked + "0\r\n\r\n").status, 413);
  EXPECT_EQ(ask(server.port, request_text("POST", "/classify", "no form", "multipart/form-data; boundary=x")).status,
            400);
  EXPECT_TRUE(mentions(error_of([&] { RunningServer other(options(), {.port = server.port}); }), "in use"));
}

TEST_F(Serving, refuses_connections_beyond_its_number_with_503) {
  RunningServer server(options(), {.most_bytes = 100'000, .connections = 2, .read_seconds = 5});
  test::Connection first(server.port), second(server.port);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // both are taken up
  const Reply refused = ask(server.port, request_text("POST", "/classify", picture()));
  EXPECT_EQ(refused.status, 503);
  EXPECT_TRUE(mentions(refused.head, "Retry-After: 1"));
  first.send(request_text("POST", "/classify", picture()));
  EXPECT_EQ(test::reply_of(first.receive()).status, 200);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(ask(server.port, request_text("POST", "/classify", picture())).status, 200);
}

TEST_F(Serving, loses_no_request_at_saturation) {
  ServiceOptions tight = options();
  tight.most_waiting = 4;
  RunningServer server(tight, {.most_bytes = 100'000, .connections = 8});
  constexpr int kClients = 16, kRequests = 25;
  std::array<std::atomic<int>, 600> statuses{};
  std::atomic<int> wrong{0};
  const std::vector<float> expected = logits_alone("first", picture());
  std::vector<std::thread> clients;
  for (int client = 0; client < kClients; ++client)
    clients.emplace_back([&] {
      for (int i = 0; i < kRequests; ++i) {
        const Reply reply = ask(server.port, request_text("POST", "/classify?top=1", picture()));
        ++statuses[static_cast<size_t>(reply.status)];
        if (reply.status != 200) continue;
        const json best = json::parse(reply.body)[0]["top"][0];
        wrong += best["logit"].get<float>() != expected[best["class"].get<size_t>()];
      }
    });
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(statuses[200] + statuses[503], kClients * kRequests) << statuses[0] << " without an answer";
  EXPECT_GT(statuses[200], 0);
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(mentions(server.service().answer({"GET", "/metrics"}).text,
                       "fib_images_total{model=\"first\"} " + std::to_string(statuses[200]) + "\n"));
  EXPECT_EQ(server.service().images_waiting(), 0);
}

TEST_F(Serving, answers_what_has_begun_before_it_ends) {
  RunningServer server(options());
  const std::string request = request_text("POST", "/classify", picture());
  test::Connection slow(server.port);
  slow.send(request.substr(0, request.size() / 2));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  server.stop();
  std::this_thread::sleep_for(std::chrono::milliseconds(120));
  slow.send(request.substr(request.size() / 2));
  EXPECT_EQ(test::reply_of(slow.receive()).status, 200);
  server.wait();
  EXPECT_FALSE(test::Connection(server.port).connected());
}

}  // namespace
}  // namespace fib::serving
