#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <cxxabi.h>

#include <gtest/gtest.h>

#include "support/demangle.h"
#include "support/mangled_size.h"

namespace tally {
namespace {

std::string of_the_abi(const std::string &name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return text ? text.get() : "";
}

// "S_", "S0_", …
std::string candidate(int number) {
  if (number == 0)
    return "S_";
  std::string digits;
  for (int rest = number - 1; digits.empty() || rest > 0; rest /= 36)
    digits.insert(digits.begin(), "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[rest % 36]);
  return "S" + digits + "_";
}

// `first` ends with candidate `number`; each level behind it holds the one before twice.
std::string pointers(std::string first, int number, int levels) {
  for (int i = 0; i < levels; ++i, number += 2)
    first += "PFv" + candidate(number) + candidate(number) + "E";
  return first;
}

std::string arguments(int levels) {
  std::string name = "_Z1f1AIiiE";
  for (int i = 0; i < levels; ++i)
    name += "S_I" + candidate(i + 1) + candidate(i + 1) + "E";
  return name;
}

// Of this library, the longest ones.
const std::vector<std::string> long_names = {
    "_ZSt16__merge_adaptiveIN9__gnu_cxx17__normal_iteratorIPN5tally13AnnotatedCallESt6vectorIS3_"
    "SaIS3_EEEElS4_NS0_5__ops15_Iter_comp_iterIZNSt6ranges8__detail16__make_comp_projIZNS2_12_"
    "GLOBAL__N_114annotated_fileERKNS2_11CostProfileENS2_6FileIdESt3mapIjNS2_"
    "13AnnotatedLineESt4lessIjESaISt4pairIKjSK_EEESt17basic_string_viewIcSt11char_traitsIcEEjRKNS2_"
    "15AnnotateOptionsEEUlRKS3_S10_E_St8identityEEDaRT_RT0_EUlOS13_OS15_E_EEEvS13_S13_S13_S15_S15_"
    "T1_S15_T2_",
    "_ZSt24__merge_sort_with_bufferIN9__gnu_cxx17__normal_"
    "iteratorIPN5tally13AnnotatedCallESt6vectorIS3_SaIS3_EEEES4_NS0_5__ops15_Iter_comp_"
    "iterIZNSt6ranges8__detail16__make_comp_projIZNS2_12_GLOBAL__N_114annotated_fileERKNS2_"
    "11CostProfileENS2_6FileIdESt3mapIjNS2_13AnnotatedLineESt4lessIjESaISt4pairIKjSK_EEESt17basic_"
    "string_viewIcSt11char_traitsIcEEjRKNS2_15AnnotateOptionsEEUlRKS3_S10_E_St8identityEEDaRT_RT0_"
    "EUlOS13_OS15_E_EEEvS13_S13_S15_T1_",
    "_ZSt13__adjust_heapIN9__gnu_cxx17__normal_iteratorIPN5tally16FunctionCoverageESt6vectorIS3_"
    "SaIS3_EEEElS3_NS0_5__ops15_Iter_comp_iterIZNSt6ranges8__detail16__make_comp_projINSB_"
    "4lessEZNS2_4lcov11coverage_ofERKNSF_7RecordsESt17basic_string_viewIcSt11char_traitsIcEERKNS2_"
    "10StringPoolERKNSF_8FindingsEEUlRKS3_E_EEDaRT_RT0_EUlOSW_OSY_E_EEEvSW_SY_SY_T1_T2_",
    "_ZSt16__merge_adaptiveIN9__gnu_cxx17__normal_iteratorIPZN5tally11to_markdownB5cxx11ERKNS2_"
    "8CoverageESt17basic_string_viewIcSt11char_traitsIcEEE3RowSt6vectorISA_SaISA_EEEElSB_NS0_5__"
    "ops15_Iter_comp_iterIZNSt6ranges8__detail16__make_comp_projINSI_7greaterEZNS2_11to_"
    "markdownB5cxx11ES5_S9_EUlRKSA_E_EEDaRT_RT0_EUlOSP_OSR_E_EEEvSP_SP_SP_SR_SR_T1_SR_T2_",
    "_ZSt22__merge_without_bufferIN9__gnu_cxx17__normal_"
    "iteratorIPN5tally13AnnotatedFileESt6vectorIS3_SaIS3_EEEElNS0_5__ops15_Iter_comp_"
    "iterIZNSt6ranges8__detail16__make_comp_projIZNS2_8annotateERKNS2_11CostProfileESt17basic_"
    "string_viewIcSt11char_traitsIcEERKNS2_15AnnotateOptionsEEUlRKS3_SP_E_St8identityEEDaRT_RT0_"
    "EUlOSS_OSU_E_EEEvSS_SS_SS_SU_SU_T1_",
    "_ZSt22__merge_without_bufferIN9__gnu_cxx17__normal_iteratorIPZN5tally11to_"
    "markdownB5cxx11ERKNS2_8CoverageESt17basic_string_viewIcSt11char_traitsIcEEE3RowSt6vectorISA_"
    "SaISA_EEEElNS0_5__ops15_Iter_comp_iterIZNSt6ranges8__detail16__make_comp_projINSI_"
    "7greaterEZNS2_11to_markdownB5cxx11ES5_S9_EUlRKSA_E_EEDaRT_RT0_EUlOSP_OSR_E_EEEvSP_SP_SP_SR_SR_"
    "T1_",
    "_ZSt24__merge_sort_with_bufferIN9__gnu_cxx17__normal_iteratorIPZN5tally11to_"
    "markdownB5cxx11ERKNS2_8CoverageESt17basic_string_viewIcSt11char_traitsIcEEE3RowSt6vectorISA_"
    "SaISA_EEEESB_NS0_5__ops15_Iter_comp_iterIZNSt6ranges8__detail16__make_comp_projINSI_"
    "7greaterEZNS2_11to_markdownB5cxx11ES5_S9_EUlRKSA_E_EEDaRT_RT0_EUlOSP_OSR_E_EEEvSP_SP_SR_T1_",
    "_ZSt24__merge_sort_with_bufferIN9__gnu_cxx17__normal_iteratorIPZN5tally9to_"
    "githubB5cxx11ERKNS2_8CoverageESt17basic_string_viewIcSt11char_traitsIcEEmE5PlaceSt6vectorISA_"
    "SaISA_EEEESB_NS0_5__ops15_Iter_comp_iterIZNSt6ranges8__detail16__make_comp_projINSI_"
    "7greaterEZNS2_9to_githubB5cxx11ES5_S9_mEUlRKSA_E_EEDaRT_RT0_EUlOSP_OSR_E_EEEvSP_SP_SR_T1_",
    "_ZSt21__inplace_stable_sortIN9__gnu_cxx17__normal_iteratorIPZN5tally11to_"
    "markdownB5cxx11ERKNS2_8CoverageESt17basic_string_viewIcSt11char_traitsIcEEE3RowSt6vectorISA_"
    "SaISA_EEEENS0_5__ops15_Iter_comp_iterIZNSt6ranges8__detail16__make_comp_projINSI_"
    "7greaterEZNS2_11to_markdownB5cxx11ES5_S9_EUlRKSA_E_EEDaRT_RT0_EUlOSP_OSR_E_EEEvSP_SP_SR_",
    "_ZSt16__insertion_sortIN9__gnu_cxx17__normal_iteratorIPZN5tally11to_markdownB5cxx11ERKNS2_"
    "8CoverageESt17basic_string_viewIcSt11char_traitsIcEEE3RowSt6vectorISA_SaISA_EEEENS0_5__ops15_"
    "Iter_comp_iterIZNSt6ranges8__detail16__make_comp_projINSI_7greaterEZNS2_11to_"
    "markdownB5cxx11ES5_S9_EUlRKSA_E_EEDaRT_RT0_EUlOSP_OSR_E_EEEvSP_SP_SR_",
    "_ZSt22__stable_sort_adaptiveIN9__gnu_cxx17__normal_iteratorIPN5tally4lcov12_GLOBAL__N_"
    "17SectionESt6vectorIS5_SaIS5_EEEES6_lNS0_5__ops15_Iter_comp_iterIZNSt6ranges8__detail16__make_"
    "comp_projINSD_4lessEMS5_KFSt5tupleIJRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESP_"
    "EEvEEEDaRT_RT0_EUlOST_OSV_E_EEEvST_ST_SV_T1_T2_",
    "_ZSt24__merge_sort_with_bufferIN9__gnu_cxx17__normal_iteratorIPN5tally4lcov12_GLOBAL__N_"
    "17SectionESt6vectorIS5_SaIS5_EEEES6_NS0_5__ops15_Iter_comp_iterIZNSt6ranges8__detail16__make_"
    "comp_projINSD_4lessEMS5_KFSt5tupleIJRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESP_"
    "EEvEEEDaRT_RT0_EUlOST_OSV_E_EEEvST_ST_SV_T1_",
    "_ZSt12__move_mergeIPN5tally4lcov12_GLOBAL__N_17SectionEN9__gnu_cxx17__normal_iteratorIS4_"
    "St6vectorIS3_SaIS3_EEEENS5_5__ops15_Iter_comp_iterIZNSt6ranges8__detail16__make_comp_projINSD_"
    "4lessEMS3_KFSt5tupleIJRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESP_EEvEEEDaRT_RT0_"
    "EUlOST_OSV_E_EEESV_ST_ST_ST_ST_SV_T1_",
    "_ZSt22__merge_without_bufferIN9__gnu_cxx17__normal_iteratorIPjSt6vectorIjSaIjEEEElNS0_5__"
    "ops15_Iter_comp_iterIZNSt6ranges8__detail16__make_comp_projINS9_4lessEZN5tally12_GLOBAL__N_"
    "18Counting9sort_arcsESt4spanIKNSD_8GraphArcELm18446744073709551615EERKS3_IlSaIlEEEUljE_EEDaRT_"
    "RT0_EUlOSP_OSR_E_EEEvSP_SP_SP_SR_SR_T1_",
    "_ZN3fmt2v96detail5valueINS0_20basic_format_contextINS0_8appenderEcEEE17format_custom_argINS0_"
    "9join_viewIN9__gnu_cxx17__normal_iteratorIPSt17basic_string_viewIcSt11char_"
    "traitsIcEESt4spanISE_Lm18446744073709551615EEEESI_cEENS0_9formatterISJ_cvEEEEvPvRNS0_26basic_"
    "format_parse_contextIcNS1_13error_handlerEEERS5_",
    "_ZSt16__introsort_loopIN9__gnu_cxx17__normal_iteratorIPN5tally10LocationIdESt6vectorIS3_SaIS3_"
    "EEEElNS0_5__ops15_Iter_comp_iterIZNSt6ranges8__detail16__make_comp_projIZNS2_"
    "13SymbolizationC4ENS2_12StackProfileERNS2_10SymbolizerERNS2_11DiagnosticsEEUlS3_S3_E_"
    "St8identityEEDaRT_RT0_EUlOSM_OSO_E_EEEvSM_SM_SO_T1_",
    "_ZNSt10_HashtableISt17basic_string_viewIcSt11char_traitsIcEESt4pairIKS3_jESaIS6_ENSt8__"
    "detail10_Select1stESt8equal_toIS3_ESt4hashIS3_ENS8_18_Mod_range_hashingENS8_20_Default_ranged_"
    "hashENS8_20_Prime_rehash_policyENS8_17_Hashtable_traitsILb1ELb0ELb1EEEE21_M_insert_unique_"
    "nodeEmmPNS8_10_Hash_nodeIS6_Lb1EEEm",
    "_ZSt16__insertion_sortIN9__gnu_cxx17__normal_iteratorIPN5tally4lcov12_GLOBAL__N_"
    "17SectionESt6vectorIS5_SaIS5_EEEENS0_5__ops15_Iter_comp_iterIZNSt6ranges8__detail16__make_"
    "comp_projINSD_4lessEMS5_KFSt5tupleIJRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESP_"
    "EEvEEEDaRT_RT0_EUlOST_OSV_E_EEEvST_ST_SV_",
    "_ZNSt10_HashtableIP8Dwarf_CUSt4pairIKS1_St10unique_"
    "ptrIN5tally9symbolize9LineTableESt14default_deleteIS7_EEESaISB_ENSt8__detail10_"
    "Select1stESt8equal_toIS1_ESt4hashIS1_ENSD_18_Mod_range_hashingENSD_20_Default_ranged_hashENSD_"
    "20_Prime_rehash_policyENSD_17_Hashtable_traitsILb0ELb0ELb1EEEE12_Scoped_nodeD1Ev",
    "_ZSt21__inplace_stable_sortIN9__gnu_cxx17__normal_iteratorIPjSt6vectorIjSaIjEEEENS0_5__ops15_"
    "Iter_comp_iterIZNSt6ranges8__detail16__make_comp_projINS9_4lessEZN5tally12_GLOBAL__N_"
    "18Counting9sort_arcsESt4spanIKNSD_8GraphArcELm18446744073709551615EERKS3_IlSaIlEEEUljE_EEDaRT_"
    "RT0_EUlOSP_OSR_E_EEEvSP_SP_SR_",
    "_ZNSt10_HashtableIP8Dwarf_CUSt4pairIKS1_St10unique_"
    "ptrIN5tally9symbolize9LineTableESt14default_deleteIS7_EEESaISB_ENSt8__detail10_"
    "Select1stESt8equal_toIS1_ESt4hashIS1_ENSD_18_Mod_range_hashingENSD_20_Default_ranged_hashENSD_"
    "20_Prime_rehash_policyENSD_17_Hashtable_traitsILb0ELb0ELb1EEEE9_M_rehashEmRKm",
    "_ZSt22__merge_without_bufferIN9__gnu_cxx17__normal_iteratorIPN5tally5gcovr12_GLOBAL__N_"
    "16SourceESt6vectorIS5_SaIS5_EEEElNS0_5__ops15_Iter_comp_iterIZNSt6ranges8__detail16__make_"
    "comp_projINSD_4lessEMS5_NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEEEDaRT_RT0_EUlOSO_"
    "OSQ_E_EEEvSO_SO_SO_SQ_SQ_T1_",
    "_ZSt24__merge_sort_with_bufferIN9__gnu_cxx17__normal_iteratorIPN5tally5gcovr12_GLOBAL__N_"
    "16SourceESt6vectorIS5_SaIS5_EEEES6_NS0_5__ops15_Iter_comp_iterIZNSt6ranges8__detail16__make_"
    "comp_projINSD_4lessEMS5_NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEEEDaRT_RT0_EUlOSO_"
    "OSQ_E_EEEvSO_SO_SQ_T1_",
    "_ZN3fmt2v96detail5valueINS0_20basic_format_contextINS0_8appenderEcEEE17format_custom_argINS0_"
    "9join_viewIN9__gnu_cxx17__normal_iteratorIPKSt17basic_string_viewIcSt11char_"
    "traitsIcEESt6vectorISE_SaISE_EEEESK_cEENS0_9formatterISL_cvEEEEvPvRNS0_26basic_format_parse_"
    "contextIcNS1_13error_handlerEEERS5_",
    "_ZN8nlohmann16json_abi_v3_11_26detail6parserINS0_10basic_jsonISt3mapSt6vectorNSt7__"
    "cxx1112basic_stringIcSt11char_traitsIcESaIcEEEblmdSaNS0_14adl_serializerES5_IhSaIhEEEENS1_"
    "22iterator_input_adapterIN5tally5gcovr12_GLOBAL__N_16CursorEEEE17exception_messageENS1_"
    "10lexer_baseISF_E10token_typeERKSB_",
    "_ZSt16__introsort_loopIN9__gnu_cxx17__normal_"
    "iteratorIPN5tally4lcov12ConditionRowESt6vectorIS4_SaIS4_EEEElNS0_5__ops15_Iter_comp_"
    "iterIZNSt6ranges8__detail16__make_comp_projIZNS3_7Records6add_upERKNS2_10StringPoolERKNS3_"
    "8FindingsEEUlRKS4_SN_E5_St8identityEEDaRT_RT0_EUlOSQ_OSS_E_EEEvSQ_SQ_SS_T1_",
    "_ZNSt10_HashtableIN5tally12CostFunctionESt4pairIKS1_NS0_14CostFunctionIdEESaIS5_ENSt8__"
    "detail10_Select1stESt8equal_toIS1_ENS0_18CostProfileBuilder12FunctionHashENS7_18_Mod_range_"
    "hashingENS7_20_Default_ranged_hashENS7_20_Prime_rehash_policyENS7_17_Hashtable_"
    "traitsILb1ELb0ELb1EEEE9_M_rehashEmRKm",
    "_ZSt12__move_mergeIPN5tally5gcovr12_GLOBAL__N_16SourceEN9__gnu_cxx17__normal_iteratorIS4_"
    "St6vectorIS3_SaIS3_EEEENS5_5__ops15_Iter_comp_iterIZNSt6ranges8__detail16__make_comp_projINSD_"
    "4lessEMS3_NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEEEDaRT_RT0_EUlOSO_OSQ_E_EEESQ_"
    "SO_SO_SO_SO_SQ_T1_",
    "_ZSt16__introsort_loopIN9__gnu_cxx17__normal_iteratorIPN5tally4lcov12_GLOBAL__N_"
    "16Writer8FunctionESt6vectorIS6_SaIS6_EEEElNS0_5__ops15_Iter_comp_iterIZNSt6ranges8__detail16__"
    "make_comp_projINSE_4lessEZNS5_12functions_ofERKNS2_12FileCoverageEEUlRKS6_E0_EEDaRT_RT0_"
    "EUlOSO_OSQ_E_EEEvSO_SO_SQ_T1_",
    "_ZNKSt10_HashtableINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESt4pairIKS5_mESaIS8_"
    "ENSt8__detail10_Select1stESt8equal_toIS5_ESt4hashIS5_ENSA_18_Mod_range_hashingENSA_20_Default_"
    "ranged_hashENSA_20_Prime_rehash_policyENSA_17_Hashtable_traitsILb1ELb0ELb1EEEE19_M_find_"
    "before_nodeEmRS7_m",
    "_ZSt16__introsort_loopIN9__gnu_cxx17__normal_iteratorIPN5tally4lcov12_GLOBAL__N_"
    "16Writer8FunctionESt6vectorIS6_SaIS6_EEEElNS0_5__ops15_Iter_comp_iterIZNSt6ranges8__detail16__"
    "make_comp_projINSE_4lessEZNS5_12functions_ofERKNS2_12FileCoverageEEUlRKS6_E_EEDaRT_RT0_EUlOSO_"
    "OSQ_E_EEEvSO_SO_SQ_T1_",
    "_ZSt16__merge_adaptiveIN9__gnu_cxx17__normal_iteratorIPN5tally12FileCoverageESt6vectorIS3_"
    "SaIS3_EEEElS4_NS0_5__ops15_Iter_comp_iterIZNSt6ranges8__detail16__make_comp_projINSB_"
    "4lessEMS3_NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEEEDaRT_RT0_EUlOSM_OSO_E_EEEvSM_"
    "SM_SM_SO_SO_T1_SO_T2_",
    "_ZSt16__introsort_loopIN9__gnu_cxx17__normal_iteratorIPN5tally5gcovr12_GLOBAL__N_"
    "16Writer8FunctionESt6vectorIS6_SaIS6_EEEElNS0_5__ops15_Iter_comp_iterIZNSt6ranges8__detail16__"
    "make_comp_projINSE_4lessEZNS5_9functionsERKNS2_12FileCoverageEEUlRKS6_E_EEDaRT_RT0_EUlOSO_OSQ_"
    "E_EEEvSO_SO_SQ_T1_",
    "_ZSt22__stable_sort_adaptiveIN9__gnu_cxx17__normal_"
    "iteratorIPN5tally12FileCoverageESt6vectorIS3_SaIS3_EEEES4_lNS0_5__ops15_Iter_comp_"
    "iterIZNSt6ranges8__detail16__make_comp_projINSB_4lessEMS3_NSt7__cxx1112basic_stringIcSt11char_"
    "traitsIcESaIcEEEEEDaRT_RT0_EUlOSM_OSO_E_EEEvSM_SM_SO_T1_T2_",
    "_ZSt13__adjust_heapIN9__gnu_cxx17__normal_iteratorIPN5tally3Sum7CallRowESt6vectorIS4_SaIS4_"
    "EEEElS4_NS0_5__ops15_Iter_comp_iterIZNSt6ranges8__detail16__make_comp_projINSC_4lessEMS4_"
    "KFSt5tupleIJRKNS2_12CostPositionERKNS2_14CostFunctionIdESJ_EEvEEEDaRT_RT0_EUlOSQ_OSS_E_EEEvSQ_"
    "SS_SS_T1_T2_",
    "_ZNSt10_HashtableIjSt4pairIKjN5tally16SourceFunctionIdEESaIS4_ENSt8__detail10_"
    "Select1stESt8equal_toIjESt4hashIjENS6_18_Mod_range_hashingENS6_20_Default_ranged_hashENS6_20_"
    "Prime_rehash_policyENS6_17_Hashtable_traitsILb0ELb0ELb1EEEE21_M_insert_unique_nodeEmmPNS6_10_"
    "Hash_nodeIS4_Lb0EEEm",
    "_ZSt16__introsort_loopIN9__gnu_cxx17__normal_iteratorIPN5tally3Sum7CallRowESt6vectorIS4_SaIS4_"
    "EEEElNS0_5__ops15_Iter_comp_iterIZNSt6ranges8__detail16__make_comp_projINSC_4lessEMS4_"
    "KFSt5tupleIJRKNS2_12CostPositionERKNS2_14CostFunctionIdESJ_EEvEEEDaRT_RT0_EUlOSQ_OSS_E_EEEvSQ_"
    "SQ_SS_T1_",
    "_ZNSt10unique_ptrISt6vectorIN8nlohmann16json_abi_v3_11_210basic_jsonINS2_11ordered_mapES0_"
    "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEblmdSaNS2_14adl_serializerES0_"
    "IhSaIhEEEESaISE_EEZNSE_6createISG_JN9__gnu_cxx17__normal_iteratorIPKmS0_ImSaImEEEESO_EEEPT_"
    "DpOT0_EUlPSG_E_ED2Ev",
    "_ZSt22__merge_without_bufferIN9__gnu_cxx17__normal_"
    "iteratorIPPKN5tally12FileCoverageESt6vectorIS5_SaIS5_EEEElNS0_5__ops15_Iter_comp_"
    "iterIZNSt6ranges8__detail16__make_comp_projINSD_4lessEZNS2_12sums_by_pathES9_RNS2_"
    "11DiagnosticsEEUlS5_E_EEDaRT_RT0_EUlOSK_OSM_E_EEEvSK_SK_SK_SM_SM_T1_",
    "_ZSt16__merge_adaptiveIN9__gnu_cxx17__normal_iteratorIPN5tally7DiffRowESt6vectorIS3_SaIS3_"
    "EEEElS4_NS0_5__ops15_Iter_comp_iterIZNSt6ranges8__detail16__make_comp_projIZNS2_11diff_"
    "tablesERKNS2_9FlatTableESG_EUlRKS3_SI_E1_St8identityEEDaRT_RT0_EUlOSL_OSN_E_EEEvSL_SL_SL_SN_"
    "SN_T1_SN_T2_",
    "_ZSt22__stable_sort_adaptiveIN9__gnu_cxx17__normal_iteratorIPmSt6vectorImSaImEEEES2_lNS0_5__"
    "ops15_Iter_comp_iterIZNSt6ranges8__detail16__make_comp_projIZNK5tally11TreeBuilderINSC_12_"
    "GLOBAL__N_110StackStateEE7orderedES5_EUlmmE_St8identityEEDaRT_RT0_EUlOSJ_OSL_E_EEEvSJ_SJ_SL_"
    "T1_T2_",
    "_ZSt22__merge_without_bufferIN9__gnu_cxx17__normal_"
    "iteratorIPN5tally12GcovFunctionESt6vectorIS3_SaIS3_EEEElNS0_5__ops15_Iter_comp_"
    "iterIZNSt6ranges8__detail16__make_comp_projINSB_4lessEZNS2_12_GLOBAL__N_18Counting9add_"
    "linesEjEUlRKS3_E_EEDaRT_RT0_EUlOSK_OSM_E_EEEvSK_SK_SK_SM_SM_T1_",
    "_ZNSt10_HashtableINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESt4pairIKS5_bESaIS8_"
    "ENSt8__detail10_Select1stESt8equal_toIS5_ESt4hashIS5_ENSA_18_Mod_range_hashingENSA_20_Default_"
    "ranged_hashENSA_20_Prime_rehash_policyENSA_17_Hashtable_traitsILb1ELb0ELb1EEEE12_Scoped_"
    "nodeD2Ev",
    "_ZSt16__insertion_sortIN9__gnu_cxx17__normal_iteratorIPN5tally3Sum7CallRowESt6vectorIS4_SaIS4_"
    "EEEENS0_5__ops15_Iter_comp_iterIZNSt6ranges8__detail16__make_comp_projINSC_4lessEMS4_"
    "KFSt5tupleIJRKNS2_12CostPositionERKNS2_14CostFunctionIdESJ_EEvEEEDaRT_RT0_EUlOSQ_OSS_E_EEEvSQ_"
    "SQ_SS_",
    "_ZSt24__merge_sort_with_bufferIN9__gnu_cxx17__normal_iteratorIPmSt6vectorImSaImEEEES2_NS0_5__"
    "ops15_Iter_comp_iterIZNSt6ranges8__detail16__make_comp_projIZNK5tally11TreeBuilderINSC_12_"
    "GLOBAL__N_110StackStateEE7orderedES5_EUlmmE_St8identityEEDaRT_RT0_EUlOSJ_OSL_E_EEEvSJ_SJ_SL_"
    "T1_",
    "_ZSt22__stable_sort_adaptiveIN9__gnu_cxx17__normal_iteratorIPN5tally7DiffRowESt6vectorIS3_"
    "SaIS3_EEEES4_lNS0_5__ops15_Iter_comp_iterIZNSt6ranges8__detail16__make_comp_projIZNS2_11diff_"
    "tablesERKNS2_9FlatTableESG_EUlRKS3_SI_E1_St8identityEEDaRT_RT0_EUlOSL_OSN_E_EEEvSL_SL_SN_T1_"
    "T2_",
    "_ZSt16__introsort_loopIN9__gnu_cxx17__normal_iteratorIPSt17basic_string_viewIcSt11char_"
    "traitsIcEESt6vectorIS5_SaIS5_EEEElNS0_5__ops15_Iter_comp_iterIZNSt6ranges8__detail16__make_"
    "comp_projINSD_4lessEZN5tally11no_functionES5_S9_S5_EUlS5_E0_EEDaRT_RT0_EUlOSJ_OSL_E_EEEvSJ_SJ_"
    "SL_T1_",
    "_ZNSt8_Rb_treeINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESt4pairIKS5_St13unordered_"
    "mapIS5_N5tally12FileCoverageESt4hashIS5_ESt8equal_toIS5_ESaIS6_IS7_SA_EEEESt10_Select1stISI_"
    "ESt4lessIS5_ESaISI_EE17_M_emplace_uniqueIJRA1_KcRSH_EEES6_ISt17_Rb_tree_iteratorISI_EbEDpOT_",
    "_ZNSt10_HashtableINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESt4pairIKS5_jESaIS8_"
    "ENSt8__detail10_Select1stESt8equal_toIS5_ESt4hashIS5_ENSA_18_Mod_range_hashingENSA_20_Default_"
    "ranged_hashENSA_20_Prime_rehash_policyENSA_17_Hashtable_traitsILb1ELb0ELb1EEEE9_M_rehashEmRKm",
    "_ZSt24__merge_sort_with_bufferIN9__gnu_cxx17__normal_iteratorIPN5tally7DiffRowESt6vectorIS3_"
    "SaIS3_EEEES4_NS0_5__ops15_Iter_comp_iterIZNSt6ranges8__detail16__make_comp_projIZNS2_11diff_"
    "tablesERKNS2_9FlatTableESG_EUlRKS3_SI_E1_St8identityEEDaRT_RT0_EUlOSL_OSN_E_EEEvSL_SL_SN_T1_",
};

TEST(Demangle, LongNamesOfPrograms) {
  for (const std::string &name : long_names) {
    EXPECT_NE(of_the_abi(name), "") << name;
    EXPECT_EQ(demangle(name), of_the_abi(name));
  }
  // Hundreds of substitutions.
  std::string map = "_Z1fSt3mapINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEiSt4lessIS5_E"
                    "SaISt4pairIKS5_iEEE";
  for (int i = 0; i < 50; ++i)
    map += "S_IS5_iS7_SB_EPS9_";
  EXPECT_NE(of_the_abi(map), "");
  EXPECT_EQ(demangle(map), of_the_abi(map));
  // What mangled_size.cpp does not understand, or has to take care with.
  for (const std::string name :
       {"_Z1fDv4_fS_", "_ZNDTfp_E1fEi", "_ZN1AcvT_IiEEv", "_Z1fIJidcEEvDpRKT_",
        "_ZN9__gnu_cxx13new_allocatorISt4pairIKiNSt7__cxx1112basic_stringIcSt11char_"
        "traitsIcESaIcEEE"
        "EE9constructIS9_JRKSt21piecewise_construct_tSt5tupleIJOiEESF_IJEEEEEvPT_DpOT0_.isra.0"})
    EXPECT_TRUE(demangle(name) == of_the_abi(name) || of_the_abi(name).empty()) << name;
}

// What doubles with each level takes no time, whatever it is made of.
TEST(Demangle, NamesThatWouldFillMemoryStay) {
  for (int levels = 0; levels <= 40; ++levels)
    for (const std::string &name :
         {pointers("_Z1fPFviiE", 1, levels), arguments(levels),
          pointers("_Z1fIiEvPFvT_T_E", 3, levels),
          pointers("_Z1fDv4_iPFviiE", 2, levels), // no vectors are understood
          pointers("_ZZ1fPFviiE", 1, levels) + "E1x", pointers("_ZTIPFviiE", 1, levels),
          pointers("PFviiE", 1, levels)}) {
      const std::string text = demangle(name);
      EXPECT_LT(text.size(), 1u << 20) << name;
      const bool few = levels <= 4;
      EXPECT_TRUE(text == name || (levels < 20 && text == of_the_abi(name))) << name;
      EXPECT_TRUE(!few || of_the_abi(name).empty() || text == of_the_abi(name)) << name;
    }
  EXPECT_FALSE(demangles_within(pointers("_Z1fPFviiE", 1, 8), 1000));
  std::string deep = "_Z1f";
  deep.append(1'000'000, 'P');
  EXPECT_FALSE(demangles_within(deep + "i", 1000));
}

} // namespace
} // namespace tally
