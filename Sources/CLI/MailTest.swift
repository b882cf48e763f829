import App
import ArgumentParser
import Foundation

/// `roost mail test`: sends one mail, and tells what the server said.
struct MailTest: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test",
        abstract: "Sends a mail to an address, and tells what the mail server answers.")

    @Argument(help: "The address.")
    var address: String

    @Argument(
        parsing: .captureForPassthrough, help: "The configuration file, and options as flags, as for `roost serve`.")
    var arguments: [String] = []

    func run() async throws {
        do {
            let deployment = try Deployment(
                arguments: arguments, environment: ProcessInfo.processInfo.environment, needsKeys: false)
            print(try await TestMail(deployment).send(to: address))
        } catch {
            Serve.fail(error)
        }
    }
}
