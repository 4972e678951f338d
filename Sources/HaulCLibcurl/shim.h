// Wrappers for functions of libcurl that Swift cannot call, because they are variadic, such as curl_easy_setopt. There is one
// wrapper for each type of argument. The wrappers do nothing else.
#pragma once
#define CURL_DISABLE_TYPECHECK 1
#include <curl/curl.h>

/// The value of CURLOPT_SSLVERSION for TLS 1.2 or newer.
static const long haul_tls_1_2 = CURL_SSLVERSION_TLSv1_2;

/// curl_easy_setopt(3) for options that take a long.
static inline CURLcode haul_easy_set_long(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}

/// curl_easy_setopt(3) for options that take a 64-bit number.
static inline CURLcode haul_easy_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(easy, option, value);
}

/// curl_easy_setopt(3) for options that take a string, which libcurl copies.
static inline CURLcode haul_easy_set_string(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}

/// curl_easy_setopt(3) for options that take any other pointer, such as the context of callbacks.
static inline CURLcode haul_easy_set_pointer(CURL *easy, CURLoption option, void *value) {
  return curl_easy_setopt(easy, option, value);
}

/// curl_easy_setopt(3) for options that take a list, which libcurl does not copy.
static inline CURLcode haul_easy_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
  return curl_easy_setopt(easy, option, value);
}

/// curl_easy_setopt(3) for CURLOPT_HEADERFUNCTION and CURLOPT_WRITEFUNCTION.
static inline CURLcode haul_easy_set_receive(CURL *easy, CURLoption option,
                                             size_t (*function)(char *, size_t, size_t, void *)) {
  return curl_easy_setopt(easy, option, function);
}

/// curl_easy_setopt(3) for CURLOPT_OPENSOCKETFUNCTION.
static inline CURLcode haul_easy_set_open_socket(CURL *easy, curl_opensocket_callback function) {
  return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, function);
}

/// curl_easy_setopt(3) for CURLOPT_CLOSESOCKETFUNCTION.
static inline CURLcode haul_easy_set_close_socket(CURL *easy, curl_closesocket_callback function) {
  return curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, function);
}

/// curl_easy_setopt(3) for CURLOPT_PREREQFUNCTION.
static inline CURLcode haul_easy_set_before_request(CURL *easy, curl_prereq_callback function) {
  return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, function);
}

/// curl_easy_setopt(3) for CURLOPT_SSL_CTX_FUNCTION.
static inline CURLcode haul_easy_set_tls_context(CURL *easy, curl_ssl_ctx_callback function) {
  return curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, function);
}

/// curl_easy_getinfo(3) for information that is a string, which lives as long as the handle.
static inline CURLcode haul_easy_get_string(CURL *easy, CURLINFO info, const char **value) {
  return curl_easy_getinfo(easy, info, value);
}

/// curl_easy_getinfo(3) for information that is a pointer.
static inline CURLcode haul_easy_get_pointer(CURL *easy, CURLINFO info, void **value) {
  return curl_easy_getinfo(easy, info, value);
}

/// curl_easy_getinfo(3) for information that is a list, which the caller frees.
static inline CURLcode haul_easy_get_list(CURL *easy, CURLINFO info, struct curl_slist **value) {
  return curl_easy_getinfo(easy, info, value);
}

/// curl_easy_getinfo(3) for information that is a long.
static inline CURLcode haul_easy_get_long(CURL *easy, CURLINFO info, long *value) {
  return curl_easy_getinfo(easy, info, value);
}

/// curl_easy_getinfo(3) for information that is a 64-bit number.
static inline CURLcode haul_easy_get_offset(CURL *easy, CURLINFO info, curl_off_t *value) {
  return curl_easy_getinfo(easy, info, value);
}

/// curl_multi_setopt(3) for options that take a long.
static inline CURLMcode haul_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}

/// curl_version_info(3). Its argument is a macro that Swift cannot import.
static inline const curl_version_info_data *haul_version_info(void) {
  return curl_version_info(CURLVERSION_NOW);
}

/// Values of CURLOPT_HTTPAUTH. libcurl defines them as macros with a cast, which Swift cannot import.
enum { HAUL_AUTH_BASIC = CURLAUTH_BASIC, HAUL_AUTH_DIGEST = CURLAUTH_DIGEST };
