import Foundation
import TestSupport
import TestTools

/// One run of `scripts/copy_app.py` between two servers.
struct CopyAppProcess {
    /// How a run ended, and what it wrote.
    struct Run {
        var status: Int32?
        var output: String
        /// The lines of the list of files.
        var files: [String]
    }

    let source: TestServer
    let target: TestServer

    /// Runs the script to its end, with small pages.
    func run() async throws -> Run {
        let folder = FileManager.default.temporaryDirectory.path + "/roost-copy-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let script = Checkout.path("scripts/copy_app.py")
        let process = try await CrashProcess.start(
            [
                "/usr/bin/env", "SOURCE_MASTER_KEY=\(TestServer.masterKey)",
                "SOURCE_MAINTENANCE_KEY=\(TestServer.maintenanceKey)", "TARGET_MASTER_KEY=\(TestServer.masterKey)",
                "PYTHONDONTWRITEBYTECODE=1", "python3", script, "--source", source.url, "--source-app-id",
                TestServer.applicationID, "--target", target.url, "--target-app-id", TestServer.applicationID, "--page",
                "7", "--bytes", "2000", "--list-files", folder + "/files.txt",
            ], output: folder + "/output.txt")
        let deadline = ContinuousClock.now + .seconds(60)
        while process.isRunning {
            guard ContinuousClock.now < deadline else {
                kill(process.identifier, SIGKILL)
                throw CrashServer.Failure(description: "the copy does not end: \(Self.text(folder + "/output.txt"))")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        var status: Int32?
        if case .exit(let number) = process.end { status = number }
        return Run(
            status: status, output: Self.text(folder + "/output.txt"),
            files: Self.text(folder + "/files.txt").split(separator: "\n").map(String.init))
    }

    private static func text(_ path: String) -> String {
        (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    }
}
