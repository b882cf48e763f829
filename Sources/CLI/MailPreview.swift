import App
import ArgumentParser
import Foundation

/// `roost mail preview`: all mails and pages, with made-up values, as files.
struct MailPreview: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "preview",
        abstract: "Writes all mails and pages, in each language, into a folder.")

    @Argument(help: "The folder; it is made where it is missing. Open its index.html.")
    var folder: String

    @Argument(
        parsing: .captureForPassthrough, help: "The configuration file, and options as flags, as for `roost serve`.")
    var arguments: [String] = []

    func run() async throws {
        do {
            let deployment = try Deployment(
                arguments: arguments, environment: ProcessInfo.processInfo.environment, needsKeys: false)
            let count = try MailFolder(deployment).write(into: folder)
            print("\(count) files are in \(folder). Open \(folder)/index.html.")
        } catch {
            Serve.fail(error)
        }
    }
}
