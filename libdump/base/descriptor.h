#pragma once

#include <utility>

namespace beamdump {

/// Owns an open file descriptor and closes it.
class Descriptor {
  public:
    Descriptor() = default;
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        if (this != &other) {
            close();
            number_ = std::exchange(other.number_, -1);
        }
        return *this;
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() { close(); }

    [[nodiscard]] bool valid() const { return number_ >= 0; }
    [[nodiscard]] int get() const { return number_; }
    void close();

  private:
    int number_ = -1;
};

}  // namespace beamdump
