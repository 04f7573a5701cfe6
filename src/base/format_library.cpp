// fmt's compiled part. Debian ships it as a shared library only, and the binary must not need one.
#define FMT_EXPORT
#include <fmt/format-inl.h>

namespace fmt {
inline namespace v9 {
namespace detail {
template void buffer<char>::append(const char*, const char*);
template void vformat_to(buffer<char>&, string_view, basic_format_args<buffer_context<char>>,
                         locale_ref);
template char decimal_point_impl(locale_ref);
template thousands_sep_result<char> thousands_sep_impl(locale_ref);
template locale_ref::locale_ref(const std::locale&);
template std::locale locale_ref::get<std::locale>() const;
}  // namespace detail
}  // namespace v9
}  // namespace fmt
