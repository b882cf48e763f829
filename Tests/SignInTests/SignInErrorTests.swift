import ParseModel
import Testing

@testable import SignIn

@Test("A provider's refusal is 101")
func refusal() {
    #expect(SignInError.refused("x").code == ParseError.objectNotFound)
}
