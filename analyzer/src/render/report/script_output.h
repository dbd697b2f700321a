#pragma once

#include "render/shared/output.h"

namespace beamdump::render {

/// JSON into a script element of a page, non-owning: < > & in its texts, the only place where JSON
/// has them, as \u003C... so that no text ends the element. To be flushed before the page goes on.
class ScriptOutput final : public Output {
  public:
    explicit ScriptOutput(Output& page) : page_(page) {}

  protected:
    Result<void> put(std::string_view text) override;

  private:
    Output& page_;
};

}  // namespace beamdump::render
