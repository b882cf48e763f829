#include <curl/curl.h>

// Swift can't call variadic functions. These wrap libcurl's, one for each type of the last argument.

static inline CURLcode curl_easy_set_number(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode curl_easy_set_text(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode curl_easy_set_list(CURL *handle, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode curl_easy_set_pointer(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode curl_easy_set_reader(CURL *handle, size_t (*reader)(char *, size_t, size_t, void *)) {
    return curl_easy_setopt(handle, CURLOPT_READFUNCTION, reader);
}

static inline CURLcode curl_easy_get_number(CURL *handle, CURLINFO info, long *value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode curl_easy_set_progress(
    CURL *handle, int (*progress)(void *, curl_off_t, curl_off_t, curl_off_t, curl_off_t)) {
    return curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, progress);
}

static inline CURLcode curl_easy_set_answer(CURL *handle, size_t (*taker)(char *, size_t, size_t, void *), void *data) {
    CURLcode code = curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, taker);
    return code != CURLE_OK ? code : curl_easy_setopt(handle, CURLOPT_HEADERDATA, data);
}

static inline CURLcode curl_easy_set_observer(
    CURL *handle, int (*observer)(CURL *, curl_infotype, char *, size_t, void *), void *data) {
    CURLcode code = curl_easy_setopt(handle, CURLOPT_DEBUGFUNCTION, observer);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_DEBUGDATA, data);
    return code != CURLE_OK ? code : curl_easy_setopt(handle, CURLOPT_VERBOSE, 1L);
}
