import REST
import Testing

@Suite("The SDK version that a client sends")
struct ClientVersionTests {
    @Test(
        "JavaScript SDKs from 1.9 and unidentified clients accept Delete operations; other SDKs don't",
        arguments: [
            (nil, true), ("", true), ("unknown", true), ("1.2.3", true), ("js1.9.0", true), ("JS1.10.0", true),
            ("js8.0.1-alpha.2", true), ("js1.8.5", false), ("js0.9.9", false), ("js2", false), ("js1.9.0.1", false),
            ("i1.19.2", false), ("i6.1.1", false), ("a1.17.3", false), ("php1.6.0", false), ("apple-tv1.14.2", false),
            ("js99999999999999999999.0.0", false),
        ] as [(String?, Bool)])
    func deletions(version: String?, takesThem: Bool) {
        #expect(ClientVersion.takesDeletions(version) == takesThem)
    }
}
