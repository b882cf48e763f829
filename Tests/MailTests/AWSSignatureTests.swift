import Crypto
import Foundation
import Outgoing
import Testing

/// Amazon's published test suite of Signature Version 4, and the example in its documentation.
@Suite("AWS Signature Version 4")
struct AWSSignatureTests {
    private static let signature = AWSSignature(
        accessKeyId: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", region: "us-east-1",
        service: "service")
    private static let date = Date(timeIntervalSince1970: 1_440_938_160)

    @Test(
        "Matches Amazon's published test vectors",
        arguments: [
            (
                HTTPCall("GET", "https://example.amazonaws.com/"),
                "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
            ),
            (
                HTTPCall("GET", "https://example.amazonaws.com"),
                "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
            ),
            (
                HTTPCall("POST", "https://example.amazonaws.com/"),
                "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"
            ),
            (
                HTTPCall("GET", "https://example.amazonaws.com/?Param2=value2&Param1=value1"),
                "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"
            ),
            (
                HTTPCall(
                    "POST", "https://example.amazonaws.com/",
                    headers: [("Content-Type", "application/x-www-form-urlencoded")], body: Array("Param1=value1".utf8)),
                "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"
            ),
        ] as [(HTTPCall, String)])
    func vectors(call: HTTPCall, expected: String) throws {
        let headers = Self.signature.headers(for: call, at: Self.date)
        #expect(headers.first?.value == "20150830T123600Z")
        let authorization = try #require(headers.last?.value)
        #expect(authorization.hasSuffix("Signature=\(expected)"), "\(authorization)")
        #expect(
            authorization.hasPrefix("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, ")
        )
    }

    @Test("Derives the same signing key as Amazon's documentation")
    func key() {
        let signature = AWSSignature(
            accessKeyId: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
            region: "us-east-1",
            service: "iam")
        let key = signature.key("20150830").withUnsafeBytes { $0.hexadecimal }
        #expect(key == "c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9")
    }
}
