import REST
import Testing

@Suite("What a client says of its SDK")
struct ClientVersionTests {
    @Test(
        "Clients that name no SDK, and JavaScript's from 1.9 on, take operations for fields that are gone",
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
