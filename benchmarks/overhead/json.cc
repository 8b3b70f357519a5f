/* SPDX-License-Identifier: MIT */
/* The C++ workload: builds a document, writes it, reads it back, walks it, and catches what broken ones throw. */
#include <json/json.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>

static Json::Value document(int width, int depth)
{
    Json::Value value(Json::objectValue);
    for (int i = 0; i < width; i++) {
        std::string key = "member" + std::to_string(i);
        if (depth > 0)
            value[key] = document(width, depth - 1);
        else if (i % 3 == 0)
            value[key] = i * 1.5;
        else
            value[key] = "text with \"quotes\" and \\ number " + std::to_string(i);
    }
    return value;
}

static double sum(const Json::Value &value)
{
    if (value.isNumeric())
        return value.asDouble();
    double total = 0;
    for (const auto &member : value)
        total += sum(member);
    return total;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? std::atoi(argv[1]) : 10;
    Json::StreamWriterBuilder writer;
    Json::CharReaderBuilder reader;
    double total = 0;
    int thrown = 0;
    for (int round = 0; round < rounds; round++) {
        std::string text = Json::writeString(writer, document(8, 3));
        std::istringstream stream(text);
        Json::Value back;
        std::string errors;
        if (!Json::parseFromStream(reader, stream, &back, &errors))
            return 1;
        total += sum(back);
        for (int i = 0; i < 200; i++) {
            try {
                total += back["member1"]["member2"]["member3"]["member1"].asInt();
            } catch (const Json::Exception &) {
                thrown++;
            }
        }
    }
    std::printf("%.1f %d\n", total, thrown);
    return 0;
}
