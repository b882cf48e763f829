// A push service for measurements: HTTP/2 over TLS, one thread per connection, 200 for every request.
// Arguments: port, key file, certificate file. Prints the number of requests when it is terminated.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static SSL_CTX *context;
static nghttp2_session_callbacks *callbacks;
static atomic_long answered;

static int choose(SSL *ssl, const unsigned char **out, unsigned char *length, const unsigned char *in, unsigned int size,
                  void *unused) {
    return SSL_select_next_proto((unsigned char **)out, length, (const unsigned char *)"\x02h2", 3, in, size) ==
                   OPENSSL_NPN_NEGOTIATED
               ? SSL_TLSEXT_ERR_OK
               : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static int received(nghttp2_session *session, const nghttp2_frame *frame, void *unused) {
    if ((frame->hd.type != NGHTTP2_DATA && frame->hd.type != NGHTTP2_HEADERS) ||
        !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        return 0;
    nghttp2_nv status = {(uint8_t *)":status", (uint8_t *)"200", 7, 3, NGHTTP2_NV_FLAG_NONE};
    atomic_fetch_add(&answered, 1);
    return nghttp2_submit_response(session, frame->hd.stream_id, &status, 1, NULL);
}

// Writes the output in as few TLS records as possible, because each has a cost.
static int sendAll(nghttp2_session *session, SSL *ssl) {
    static _Thread_local unsigned char bytes[65536];
    size_t count = 0;
    while (1) {
        const uint8_t *piece;
        ssize_t length = nghttp2_session_mem_send(session, &piece);
        if (length < 0) return 0;
        if (length == 0 || count + length > sizeof bytes) {
            if (count && SSL_write(ssl, bytes, (int)count) <= 0) return 0;
            count = 0;
            if (length == 0) return 1;
        }
        memcpy(bytes + count, piece, length);
        count += length;
    }
}

static void *serve(void *argument) {
    int socket = (int)(long)argument, yes = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    SSL *ssl = SSL_new(context);
    SSL_set_fd(ssl, socket);
    nghttp2_session *session = NULL;
    if (SSL_accept(ssl) == 1 && nghttp2_session_server_new(&session, callbacks, NULL) == 0) {
        nghttp2_settings_entry settings = {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 1000};
        nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, &settings, 1);
        nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, 1 << 24);
        unsigned char bytes[65536];
        while (sendAll(session, ssl)) {
            int count = SSL_read(ssl, bytes, sizeof bytes);
            if (count <= 0 || nghttp2_session_mem_recv(session, bytes, count) < 0) break;
        }
        nghttp2_session_del(session);
    }
    SSL_free(ssl);
    close(socket);
    return NULL;
}

static void end(int signal) {
    char text[32];
    int length = snprintf(text, sizeof text, "%ld\n", atomic_load(&answered));
    _exit(write(1, text, length) == length ? 0 : 1);
}

int main(int count, char **arguments) {
    if (count != 4) return 64;
    signal(SIGTERM, end);
    signal(SIGPIPE, SIG_IGN);
    context = SSL_CTX_new(TLS_server_method());
    SSL_CTX_set_alpn_select_cb(context, choose, NULL);
    if (SSL_CTX_use_PrivateKey_file(context, arguments[2], SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_use_certificate_file(context, arguments[3], SSL_FILETYPE_PEM) != 1)
        return 1;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, received);
    int listener = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(arguments[1]))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 64) != 0) return 1;
    while (1) {
        long socket = accept(listener, NULL, NULL);
        pthread_t thread;
        if (socket >= 0 && pthread_create(&thread, NULL, serve, (void *)socket) == 0) pthread_detach(thread);
    }
}
