// Prints of each of the runtime's globals that a dump's capture found one line, JSON: name,
// address, and by what it was found.

#include <libdump/model/dump.h>

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <iostream>

int main(int count, char** arguments) {
    using namespace beamdump;
    if (count != 2) {
        std::cerr << "usage: found_by DUMP\n";
        return 2;
    }
    auto dump = Dump::open(arguments[1], {});
    if (!dump) {
        std::cerr << dump.error().message << '\n';
        return 1;
    }
    for (const auto& found : (*dump)->capture().found_by()) {
        rapidjson::StringBuffer text;
        rapidjson::Writer<rapidjson::StringBuffer> line(text);
        line.StartObject();
        line.Key("name");
        line.String(found.name().c_str());
        line.Key("address");
        line.Uint64(found.address());
        line.Key("how");
        line.String(found.how().c_str());
        line.EndObject();
        std::cout << text.GetString() << '\n';
    }
    return 0;
}
