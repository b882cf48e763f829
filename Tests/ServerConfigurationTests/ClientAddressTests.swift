import ServerConfiguration
import Testing

@Suite("Client addresses")
struct ClientAddressTests {
    @Test(
        "Checks lists against the nearest proxy's entry and never treats a forwarded address as local",
        arguments: [
            // trustProxy, X-Forwarded-For, the expected client address, the expected vouched address
            (.noProxy, nil, "127.0.0.1", "127.0.0.1"), (.noProxy, "10.1.1.1", "127.0.0.1", "127.0.0.1"),
            (.everybody, nil, "127.0.0.1", "127.0.0.1"), (.everybody, "127.0.0.1", "127.0.0.1", "0.0.0.0"),
            (.everybody, "::ffff:127.9.9.9", "::ffff:127.9.9.9", "0.0.0.0"), (.everybody, "::1", "::1", "0.0.0.0"),
            (.everybody, "10.1.1.1, 203.0.113.7", "10.1.1.1", "203.0.113.7"),
            (.everybody, "10.1.1.1, 127.0.0.1", "10.1.1.1", "0.0.0.0"), (.everybody, "garbage", "127.0.0.1", "0.0.0.0"),
            (.everybody, "", "127.0.0.1", "0.0.0.0"), (.hops(1), "127.0.0.1, 10.1.1.1", "10.1.1.1", "10.1.1.1"),
            (.hops(1), "10.1.1.1, 127.0.0.1", "127.0.0.1", "0.0.0.0"),
            (.hops(2), "10.1.1.1, 203.0.113.7", "10.1.1.1", "10.1.1.1"),
            (.addresses(["127.0.0.1"]), "127.0.0.1", "127.0.0.1", "0.0.0.0"),
            (.addresses(["127.0.0.1"]), "10.1.1.1, 203.0.113.7", "203.0.113.7", "203.0.113.7"),
        ] as [(Trust, String?, String, String)])
    func addresses(trust: Trust, forwardedFor: String?, text: String, vouched: String) throws {
        let client = ClientAddress(peer: "127.0.0.1", forwardedFor: forwardedFor, trust: try trust.option)
        #expect(client.text == text)
        #expect(client.vouched == vouched)
    }

    enum Trust: Sendable {
        case noProxy, everybody
        case hops(Int)
        case addresses([String])

        var option: Configuration.TrustProxy {
            get throws {
                switch self {
                case .noProxy: .noProxy
                case .everybody: .everybody
                case .hops(let count): .hops(count)
                case .addresses(let list): try Configuration.TrustProxy(list: list)
                }
            }
        }
    }

    @Test("Only lists of all addresses contain a client of unknown address")
    func unknown() throws {
        let client = ClientAddress(peer: "127.0.0.1", forwardedFor: "127.0.0.1", trust: .everybody)
        for (entries, isIn) in [
            (["127.0.0.1", "::1"], false), (["127.0.0.0/8"], false), (["10.0.0.0/8", "fc00::/7"], false),
            (["0.0.0.0/0", "::0"], true), (["::ffff:0:0/96"], true),
        ] { #expect(try AddressList(entries).contains(client.vouched) == isIn, "\(entries)") }
    }
}
