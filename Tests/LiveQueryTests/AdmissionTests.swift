import JSON
import LiveQuery
import ServerConfiguration
import Testing

@Suite("Master key in live queries")
struct AdmissionTests {
    @Test("Accepts the master key from a local client, but not from a forwarded loopback address")
    func writtenAddress() throws {
        let file: JSONObject = [
            "appId": "app", "masterKey": "master", "trustProxy": true,
            "liveQuery": ["classNames": ["Song"]], "liveQueryServerOptions": ["keyPairs": ["masterKey": "master"]],
        ]
        let (configuration, _) = try Configuration.load(file: file.serialized(), environment: [:], flags: [])
        let admission = try LiveQueryAdmission(configuration)
        let message: JSONObject = ["op": "connect", "applicationId": "app", "masterKey": "master"]
        #expect(try admission.isMaster(message, address: ClientAddress("127.0.0.1")))
        let written = ClientAddress(
            peer: "127.0.0.1", forwardedFor: "127.0.0.1", trust: configuration.trustProxy)
        #expect(throws: LiveQueryError.self) { try admission.isMaster(message, address: written) }
    }
}
