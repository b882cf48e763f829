import SignIn
import Testing

struct TwitterSignatureTests {
    @Test("Signs a request whose keys and tokens contain special characters per RFC 5849")
    func signature() {
        let header = TwitterProvider.authorization(
            url: TwitterProvider.url, key: "key!", secret: "sec'ret", token: "to*ken", tokenSecret: "to(k)",
            nonce: "n0nce", seconds: 1_700_000_000)
        // Computed with Python's hmac from the base string of RFC 5849, section 3.4.1.
        #expect(
            header == """
                OAuth oauth_consumer_key="key%21", oauth_nonce="n0nce", oauth_signature="NkhyJUOLo3bDW0E%2Fy89lqZAjQV0%3D", \
                oauth_signature_method="HMAC-SHA1", oauth_timestamp="1700000000", oauth_token="to%2Aken", oauth_version="1.0"
                """)
    }
}
