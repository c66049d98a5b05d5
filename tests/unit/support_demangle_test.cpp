#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <cxxabi.h>

#include "support/demangle.h"
#include "support/demangle_limits.h"
#include "support/own_name.h"
#include "support/template_name.h"

namespace tally::support_demangle_test {
namespace {

std::string by_the_compiler(const std::string &name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text ? text.get() : name;
}

// Returns all words of this program's file that look like C++ names.
std::set<std::string> own_names() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::set<std::string> names;
  for (size_t at = bytes.find("_Z"); at != bytes.npos; at = bytes.find("_Z", at + 2)) {
    const size_t end = bytes.find('\0', at);
    if (at > 0 && bytes[at - 1] == '\0' && end != bytes.npos)
      names.insert(bytes.substr(at, end - at));
  }
  return names;
}

TEST(Demangle, DemanglesCppNames) {
  EXPECT_EQ(demangle("_ZN2ns1fEi"), "ns::f(int)");
  EXPECT_EQ(demangle("main"), "main");
  EXPECT_EQ(demangle("_Znonsense"), "_Znonsense");
  EXPECT_EQ(demangle(""), "");
  EXPECT_EQ(demangled("_ZN2ns1fEi@plt"), "ns::f(int)@plt");
  EXPECT_EQ(demangled("write@plt"), "write@plt");
}

TEST(Demangle, AgreesWithTheCompilersLibrary) {
  for (const char *name : {
           "_Z1fRA3_i",
           "_Z1fPVKc",
           "_Z1fPFviE",
           "_Z1fPrVKi",
           "_Z1fM1AKFivE",
           "_Z1fM1Ai",
           "_Z1fPA2_A3_i",
           "_Z1fDv4_f",
           "_Z1fPU8_Complexd",
           "_Z1fCd",
           "_Z1fz",
           "_ZlsIcERSoS0_T_",
           "_ZNSsC1EPKc",
           "_ZNSt6vectorIiSaIiEED0Ev",
           "_ZN1AcvT_IiEEv",
           "_ZN1AcvPFvvEEv",
           "_Zli2_xPKc",
           "_ZN1AnaEm",
           "_ZN1AltIiEEbi",
           "_Z1fIJicEEvDpT_",
           "_Z1fIJEEvDpT_",
           "_Z1fIiEDTcl1gfp_EET_",
           "_Z1fIiEDTplcvT_Li1EfpET_",
           "_Z1fIXadL_Z1gvEEEvv",
           "_Z1fIXadL_ZN1A1gEvEEEvv",
           "_Z1fIJicEEvRAsZT__i",
           "_Z1fILi5ELb1ELc65ELln3ELj7ELm8EEvv",
           "_Z1fILf3f800000EEvv",
           "_Z1fIL1E2EEvv",
           "_ZZ1fIiEvvE1x",
           "_ZZ1fvE1x_0",
           "_ZZ1fvENKUliE_clEi",
           "_ZZ1fvENKUlT_E0_clIiEEDaS_",
           "_ZN12_GLOBAL__N_11fEv",
           "_Z1fB5cxx11v",
           "_ZTV1A",
           "_ZTCN1A1BE0_N1A1CE",
           "_ZThn16_N1A1fEv",
           "_ZTv0_n24_N1A1fEv",
           "_ZTch0_h16_N1A1fEv",
           "_ZGVZ1fvE1x",
           "_ZTH1x",
           "_ZTW1x",
           "_ZStplIcEvv.isra.0.cold",
           "_Z1fv.part.0",
           "_Z1fIiEPFviET_",
           "_Z1fPKFvvE",
           "_Z1fIKiEvPKT_",
           "_Z1fIRiEvOT_",
           "_Z1f",
           "_Z1fv1",
           "_ZN",
           "_Z1fS_",
           "_Z9",
       })
    EXPECT_EQ(demangle(name), by_the_compiler(name)) << name;
  EXPECT_EQ(demangled("_GLOBAL__I__Z1fv"), by_the_compiler("_GLOBAL__I__Z1fv"));
  EXPECT_EQ(demangled("_GLOBAL__sub_I_f"), "_GLOBAL__sub_I_f");

  // The two differ in blanks between '>' where a pack is empty, in the constructors of lambdas,
  // which GCC's library names after another class, and in rare names where it takes a template's
  // parameter for that of another template.
  const auto constructs_a_lambda = [](const std::string &name) {
    for (const char *code : {"_C1E", "_C2E", "_C4E", "_D1E", "_D2E", "_D4E"})
      if (name.find(code) != name.npos)
        return true;
    return false;
  };
  size_t differ = 0;
  const auto names = own_names();
  for (const std::string &name : names) {
    std::string own = demangle(name), other = by_the_compiler(name);
    std::erase(own, ' ');
    std::erase(other, ' ');
    differ += own != other && other != name && !constructs_a_lambda(name);
  }
  EXPECT_GT(names.size(), 1000U);
  EXPECT_LE(differ, names.size() / 200);
}

TEST(Names, LoseTheirReturnTypes) {
  for (const auto &[name, rest] : std::map<std::string_view, std::string_view>{
           {"void std::sort<int*>(int*)", "std::sort<int*>(int*)"},
           {"std::pair<int, char> const& (anonymous namespace)::f<int>(int) const",
            "(anonymous namespace)::f<int>(int) const"},
           {"decltype (f({parm#1})) g<int>(int)", "g<int>(int)"},
           {"decltype(auto) g<int>(int)", "g<int>(int)"},
           {"bool operator== <int>(A<int>)", "operator== <int>(A<int>)"},
           {"auto main::{lambda(auto:1)#1}::operator()<int>(int) const",
            "main::{lambda(auto:1)#1}::operator()<int>(int) const"},
           {"pure @safe int app.f(int)", "app.f(int)"}})
    EXPECT_EQ(without_return_type(name), rest);
  for (const std::string_view name :
       {"main", "ns::f(int) [clone .part.0]", "A::operator new(unsigned long)", "operator<<(S)",
        "A::operator unsigned int() const", "<alloc::vec::Vec<T> as core::fmt::Debug>::fmt",
        "main'(below main)", "(below main)", "[truncated: no unwind data]", "f (a.py:3)",
        "LazyCompile:*f /a b.js:1", "/my files (x86)/a", ""})
    EXPECT_EQ(without_return_type(name), name);
}

// __cxa_demangle() refuses names that are longer than 1,024 bytes.
TEST(Demangle, DemanglesLongNames) {
  std::string name = "_Z1fI", arguments;
  for (int i = 0; i < 900; ++i) {
    name += "3abc";
    arguments += i ? ", abc" : "abc";
  }
  EXPECT_EQ(demangle(name + "Evv"), "void f<" + arguments + ">()");
}

// The names are those of the libraries of D, and what GNU c++filt 2.40 makes of them.
TEST(Demangle, DemanglesDNames) {
  struct Name {
    const char *mangled, *text;
  };
  for (const Name &name : {
           Name{"_D2rt19sections_elf_shared3DSO14opApplyReverseFMDFKSQByQByQBgZiZi",
                "rt.sections_elf_shared.DSO.opApplyReverse(scope int(ref "
                "rt.sections_elf_shared.DSO) delegate)"},
           Name{"_D2rt6dmain212_d_run_main2UAAamPUQgZiZ6runAllMFZv",
                "rt.dmain2._d_run_main2(char[][], ulong, extern(C) int(char[][]) "
                "function).runAll()"},
           Name{"_D6object__T3getTmTmZQjFNaNfNgHmmmLNgmZNgm",
                "object.get!(ulong, ulong).get(inout(ulong[ulong]), ulong, lazy inout(ulong))"},
           Name{"_D3std11parallelism__T4TaskSQBaQz3runTDFZvZQv6__dtorMFNfZv",
                "std.parallelism.Task!(std.parallelism.run, void() delegate).Task.~this()"},
           Name{"_D2rt3aaA4Impl6__ctorMFNcMxC25TypeInfo_AssociativeArraymZSQCeQCeQCd",
                "rt.aaA.Impl.this(scope const(TypeInfo_AssociativeArray), ulong)"},
           Name{"_D3std5stdio17LockingTextReader10__postblitMFZv",
                "std.stdio.LockingTextReader.this(this)"},
           Name{"_D10TypeInfo_a6__vtblZ", "vtable for TypeInfo_a"},
           Name{"_D2rt5cover8readFileFPOS4core4stdc5stdio8_IO_FILEKAaZb",
                "rt.cover.readFile(shared(core.stdc.stdio._IO_FILE)*, ref char[])"},
           Name{"_D3std11concurrency__T8initOnceS_"
                "DQBg11parallelism8taskPoolFNdNeZ4poolCQCrQBl8TaskPoolZQCnFNcLQyZQBb",
                "std.concurrency.initOnce!(std.parallelism.taskPool().pool).initOnce(lazy "
                "std.parallelism.TaskPool)"},
           Name{"_D3std6base64__T10Base64ImplVai43Vai47Vai61Z12decodeLengthFNaNbNfImZm",
                "std.base64.Base64Impl!('+', '/', '=').decodeLength(in ulong)"},
           Name{"_D2rt15deh_win64_posix8InFlight11__xopEqualsMxFKxSQBwQBwQBiZb",
                "rt.deh_win64_posix.InFlight.__xopEquals(ref const(rt.deh_win64_posix.InFlight)) "
                "const"},
           Name{"_D4test__T3fooVii5VlN3Z1xi", "test.foo!(5, -3L).x"},
           Name{"_D4test__T1fVde0A8P6Z1xi", "test.f!(0x0.A8p6).x"},
           Name{"_D4test__T1fVHiiA2i1i2i3i4Z1xi", "test.f!([1:2, 3:4]).x"},
           Name{"_D4test__T1fVAyaa3_616263Z1xi", "test.f!(\"abc\").x"},
           Name{"_D4test1fFZ1gMFZv", "test.f().g()"},
           Name{"_Dmain", "D main"},
       })
    EXPECT_EQ(demangle(name.mangled), name.text);
  for (const char *other :
       {"_D", "_DYNAMIC", "_D4testNg", "_D4test__T1fVc", "_D99999999999999999999a"})
    EXPECT_EQ(demangle(other), other);
  // A parameter that repeats the one before as key and value, and so on: 2^n names.
  std::string doubling = "_D1fFHii";
  for (int i = 0; i < 40; ++i)
    doubling += i == 0 ? "HQeQg" : "HQgQi";
  EXPECT_EQ(demangle(doubling + "Zv"), doubling + "Zv");
  for (const char *step : {"P", "A", "x", "DF", "Hi", "1a__T1bT"}) {
    std::string deep = "_D1fF";
    while (deep.size() < 120'000)
      deep += step;
    EXPECT_EQ(demangle(deep), deep);
  }
}

// Returns a name whose arguments each repeat the one before twice.
std::string doubling(int times) {
  std::string name = "_Z1fI1AIiiE";
  for (int i = 0; i < times; ++i) {
    std::string number;
    for (int rest = i + 1; rest >= 0; rest = rest / 36 - 1)
      number.insert(number.begin(),
                    static_cast<char>(rest % 36 < 10 ? '0' + rest % 36 : 'A' + rest % 36 - 10));
    name += "S0_IS" + number + "_S" + number + "_E";
  }
  return name + "Evv";
}

TEST(Demangle, ShowsNamesThatExceedALimitAsTheyAre) {
  EXPECT_EQ(demangle(doubling(8)), by_the_compiler(doubling(8)));
  for (const int times : {16, 20, 30, 100, 1000})
    EXPECT_EQ(demangle(doubling(times)), doubling(times));
  // Parameters and packs that double.
  std::string name = "_Z1fIJ";
  for (int i = 0; i < 300; ++i)
    name += 'i';
  name += "EEv1AI";
  std::string pattern = "T_";
  for (int i = 0; i < 6; ++i)
    pattern = "1BI" + pattern + pattern + "E";
  name += "Dp" + pattern + "EDpT_";
  EXPECT_EQ(demangle(name), name);
  // GCC's library takes a time for each of these that is exponential in the number.
  name = "_Z1f";
  for (int i = 0; i < 40; ++i)
    name += "IL_ZcvT_";
  EXPECT_EQ(demangle(name), name);
  // It also takes hours for these. own_names() must not see them.
  for (const char *hangs :
       {"1fI1AII1S1_EXsri1vEDpvE1DIXtl1_EELiEEFA_S_EN1hET_1AEUlE_S_",
        "1fI1AI1CI1AEE1DILi0EE1DILi1EE1DIDp1AIS1_S1_EXsri1vEDpKvE1DIXtl1Afp_EELi8EEE1BI1AE1BIT0_"
        "IT2_DTfp_EEFA_S0_S_EEZN1n1hILi0EEEMT_iP1AEUlvE_T0_PKSC_"})
    EXPECT_LT(demangle(std::string("_Z") + hangs).size(), 1000U);
  // Recursion, a level for each suffix.
  std::string stubs = "_Z1fv";
  while (stubs.size() < 4'000'000)
    stubs += "@plt";
  EXPECT_EQ(demangled(stubs), stubs);
  // Deep recursion.
  for (const char *step :
       {"P", "1AI", "FN", "Dp", "I", "XDT", "L_Z1fI", "N1AI", "Z", "M", "A_", "K"}) {
    std::string deep = "_Z1f";
    while (deep.size() < 120'000)
      deep += step;
    EXPECT_EQ(demangle(deep), deep);
  }
}

// Returns "_RINvC1a1fTT...": each tuple refers twice to the one before.
std::string doubling_rust(int times) {
  std::string name = "INvC1a1f";
  std::string last = "j";
  for (int i = 0; i < times; ++i) {
    const size_t at = name.size();
    name += "T" + last + last + "E";
    std::string number;
    for (size_t rest = at - 1;; rest /= 62) {
      const size_t digit = rest % 62;
      number.insert(number.begin(), static_cast<char>(digit < 10   ? '0' + digit
                                                      : digit < 36 ? 'a' + digit - 10
                                                                   : 'A' + digit - 36));
      if (rest < 62)
        break;
    }
    last = "B" + number + "_";
  }
  return "_R" + name + "E";
}

TEST(Demangle, DemanglesRust) {
  EXPECT_EQ(demangle("_ZN4core3fmt5write17h0123456789abcdefE"), "core::fmt::write");
  EXPECT_EQ(demangle("_ZN4core3fmt5write17h0123456789abcdefE.llvm.123"), "core::fmt::write");
  EXPECT_EQ(demangle("_ZN70_$LT$alloc..vec..Vec$LT$T$C$A$GT$$u20$as$u20$core..ops..drop..Drop$GT$"
                     "4drop17h0123456789abcdefE"),
            "<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop");
  // All digits of a hash are hardly the same.
  EXPECT_EQ(demangle("_ZN4core3fmt5write17h0000000000000000E"),
            "core::fmt::write::h0000000000000000");
  EXPECT_EQ(demangled("_RNvC6_123foo3bar"), "123foo::bar");
  EXPECT_EQ(demangled("_RNvMC1aSh1b"), "<[u8]>::b");
  EXPECT_EQ(demangled("_RNvXCs1_1aNtB2_1bNtCs6IL9ONYDOZW_4core1c1d"), "<a::b as core::c>::d");
  EXPECT_EQ(demangled("_RNCNvC1a4mains_0"), "a::main::{closure#1}");
  EXPECT_EQ(demangled("_RINvC1a1bRL_eQhTjEAhj3_PhFUKChEuDNtC1a1tEL_Kb1_Kc5e9_Kln5_pE"),
            "a::b::<&str, &mut u8, (usize,), [u8; 3], *const u8, unsafe extern \"C\" fn(u8), "
            "dyn a::t, true, '\u05e9', -5, _>");
  EXPECT_EQ(demangled("_RINvC1a1bFG_RL0_hEuE"), "a::b::<for<'a> fn(&'a u8)>");
  EXPECT_EQ(demangled("_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y"),
            "utf8_idents::\u10e1\u10d0\u10ed\u10db\u10d4\u10da\u10d0\u10d3_\u10d2\u10d4\u10db"
            "\u10e0\u10d8\u10d4\u10da\u10d8_\u10e1\u10d0\u10d3\u10d8\u10da\u10d8");
  EXPECT_EQ(demangled("_RNvC1a"), "_RNvC1a");
  EXPECT_EQ(demangled("_Read"), "_Read");
  EXPECT_EQ(demangled(doubling_rust(2)),
            "a::f::<(usize, usize), ((usize, usize), (usize, usize))>");
  for (const int times : {20, 60, 1000})
    EXPECT_EQ(demangled(doubling_rust(times)), doubling_rust(times));
}

// Damages names at random places. The sanitizers of CI find what reads or allocates too much.
TEST(Demangle, SurvivesDamagedNames) {
  std::vector<std::string> names;
  for (const std::string &name : own_names())
    names.push_back(name);
  names.push_back(doubling(10));
  names.push_back(doubling_rust(10));
  std::mt19937 random(20);
  const auto below = [&](size_t limit) { return random() % limit; };
  for (int i = 0; i < 10'000; ++i) {
    std::string name = names[below(names.size())];
    for (size_t change = below(3); change < 3; ++change) {
      const std::string &other = names[below(names.size())];
      const size_t at = below(name.size() + 1), from = below(other.size());
      name.replace(at, below(name.size() - at + 1), other.substr(from, below(20)));
    }
    EXPECT_LE(demangled("_Z" + name).size(), 2 * demangling::longest_output);
    EXPECT_LE(demangled("_R" + name).size(), 2 * demangling::longest_output);
  }
}

} // namespace

TEST(TemplateName, IsThatOfAllInstances) {
  using tally::template_name;
  const std::pair<const char *, const char *> names[] = {
      {"int f<int>(int)", "f"},
      {"std::vector<int> ns::f<int>(std::vector<int> const&) const", "ns::f"},
      {"(anonymous namespace)::A<int>::g() &&", "::A::g"},
      {"bool operator< <int>(A<int> const&, A<int> const&)", "operator<"},
      {"A<int>::operator()(int) const", "A::operator()"},
      {"void operator+<int>(int)", "operator+"},
      {"char A<int>::operator-><char>()", "A::operator->"},
      {"A<int>::operator bool() const", "A::operator bool"},
      {"int my_operator<int>()", "my_operator"},
      {"A<int>& operator<< <int>(A<int>&, int)", "operator<<"},
      {"auto f<int>(int)::{lambda(int)#1}::operator()<long>(int) const",
       "f::{lambda#1}::operator()"},
      {"A<int>::{unnamed type#1}::g()", "A::{unnamedtype#1}::g"},
      {"decltype (x->f()) g<int>(decltype (x->f()))", "g"},
      {"f<(3>2)>(int)", "f"},
  };
  for (const auto &[name, expected] : names)
    EXPECT_EQ(template_name(name), expected) << name;
}

TEST(TemplateName, OfOtherFunctionsIsTheirWholeName) {
  using tally::template_name;
  for (const char *name :
       {"", "f", "f(int)", "f(std::vector<int>)", "main.(*T).f", ">", ")(", "operator",
        "main::{lambda()#1}::operator()() const", "bool operator<(A, A)"})
    EXPECT_EQ(template_name(name), name);
}

} // namespace tally::support_demangle_test
