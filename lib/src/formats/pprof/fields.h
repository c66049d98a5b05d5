// Lists the fields of profile.proto.
#pragma once

#include "formats/protobuf_fields.h"

namespace tally::pprof {

using namespace protobuf;

inline constexpr MessageType profile_message{
    "the profile",
    {field::none, field::b, field::b, field::b, field::b, field::b, field::b, field::i, field::i,
     field::i, field::i, field::b, field::i, field::many, field::i, field::i}};
inline constexpr MessageType value_type_message{"a value type", {field::none, field::i, field::i}};
inline constexpr MessageType sample_message{"a sample",
                                            {field::none, field::many, field::many, field::b}};
inline constexpr MessageType label_message{"a label",
                                           {field::none, field::i, field::i, field::i, field::i}};
inline constexpr MessageType mapping_message{"a mapping",
                                             {field::none, field::i, field::i, field::i, field::i,
                                              field::i, field::i, field::i, field::i, field::i,
                                              field::i}};
inline constexpr MessageType location_message{
    "a location", {field::none, field::i, field::i, field::i, field::b, field::i}};
inline constexpr MessageType line_message{"a line", {field::none, field::i, field::i, field::i}};
inline constexpr MessageType function_message{
    "a function", {field::none, field::i, field::i, field::i, field::i, field::i}};

// Returns the type of the message in field `number` of the profile, or null if it is not a message.
inline const MessageType *message_in(uint64_t number) {
  switch (number) {
  case 1:
  case 11:
    return &value_type_message;
  case 2:
    return &sample_message;
  case 3:
    return &mapping_message;
  case 4:
    return &location_message;
  case 5:
    return &function_message;
  default:
    return nullptr;
  }
}

} // namespace tally::pprof
