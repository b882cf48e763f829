import JSON
import ServerConfiguration
import Testing

@Suite("https option")
struct HTTPSOptionTests {
    @Test("Resolves certificate and key against the configuration's folder, and serves an https URL")
    func files() throws {
        var configuration = try load(["https": ["certificate": "a.pem", "key": "/etc/b.pem"], "port": 8443])
        #expect(configuration.serverURL == "https://localhost:8443/parse")
        configuration.resolvePaths(in: "/srv")
        #expect(configuration.https == .init(certificate: "/srv/a.pem", key: "/etc/b.pem"))
        #expect(try load([:]).https == nil)
        let setting = configuration.settings.first { $0.name == "https" }
        #expect(setting?.value == ["certificate": "a.pem", "key": "/etc/b.pem"])
        #expect(try load(["https": ["certificate": .null]]).https == nil)
    }

    @Test("Rejects a certificate or key without the other, and unknown keys")
    func refused() {
        let remedy = "is missing. Set the paths of certificate and key"
        #expect(refusal(["https": ["certificate": "a.pem"]]) == "option https.key \(remedy)")
        #expect(refusal(["https": ["key": "a.pem", "certificate": ""]]) == "option https.certificate \(remedy)")
        #expect(refusal(["https": ["certificate": "a", "key": "b", "ca": "c"]])?.contains("https.ca") == true)
    }
}
