import Foundation
import JSON
import NodeHost
import ServerConfiguration
import TestSupport
import Testing

/// Node.js processes that crash, hang, are overloaded or are reloaded.
@Suite("Lifecycle of cloud-code processes")
struct WorkerLifeTests {
    private static let code = """
        Parse.Cloud.define('pid', () => process.pid);
        let waits = 0;
        Parse.Cloud.define('waits', () => waits);
        let ends = 0;
        Parse.Cloud.define('ends', () => ends);
        Parse.Cloud.define('wait', request => {
          waits += 1;
          return new Promise(resolve => setTimeout(() => { ends += 1; resolve('done'); }, request.params.ms));
        });
        Parse.Cloud.define('die', () => process.exit(3));
        Parse.Cloud.define('spin', () => { for (;;); });
        Parse.Cloud.define('lost', () => { Promise.reject(new Error('nobody waits for this')); return 1; });
        Parse.Cloud.beforeSave('Guarded', request => request.object.set('checked', true));
        """

    private static func pid(_ server: TestServer) async throws -> pid_t? {
        try await server.call("pid")["result"]?.numberValue.map { pid_t($0) }
    }

    @Test("Fails open calls with 141 when the process is killed, and routes later calls to a new process")
    func killed() async throws {
        try await TunedServer(Self.code).run { server, _, _ in
            let first = try #require(try await Self.pid(server))
            async let open = server.call("wait", ["ms": 60_000])
            #expect(try await eventually { try await server.call("waits")["result"] == 1 })
            kill(first, SIGKILL)
            let broken = try await open
            #expect(
                broken.status == 400 && broken.code == 141 && broken.error == "Cloud code stopped.", "\(broken.text)")
            // The call waits for the new process.
            let second = try #require(try await Self.pid(server))
            #expect(second != first)
            #expect(try await server.send("POST", "/classes/Guarded", [:])["checked"] == true)
        }
    }

    @Test("Restarts the process after every crash, and never saves without running the trigger")
    func diesOften() async throws {
        try await TunedServer(Self.code) { $0.startWait = .seconds(20) }.run { server, _, _ in
            var dead: Set<pid_t> = []
            for _ in 0..<7 {
                // Each crash kills a different process, however long its start takes.
                var next: pid_t?
                let isAlive = try await eventually {
                    next = try await Self.pid(server)
                    return next.map { !dead.contains($0) } ?? false
                }
                try #require(isAlive)
                #expect(try await server.call("die").error == "Cloud code stopped.")
                if let next { dead.insert(next) }
            }
            #expect(try await server.send("POST", "/classes/Guarded", ["a": 1])["checked"] == true)
            #expect(try await server.send("POST", "/classes/Free", ["a": 1]).status == 201)
        }
    }

    @Test("Keeps a process alive that is busy with many short calls")
    func busy() async throws {
        let code = """
            Parse.Cloud.define('pid', () => process.pid);
            Parse.Cloud.define('work', () => { const end = Date.now() + 60; while (Date.now() < end); return 'done'; });
            """
        try await TunedServer(code) { $0.pingInterval = .milliseconds(500) }.run { server, _, _ in
            let first = try #require(try await Self.pid(server))
            let answers = try await withThrowingTaskGroup(of: TestAnswer.self) { group in
                for _ in 0..<100 { group.addTask { try await server.call("work") } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.allSatisfy { $0["result"] == "done" }, "\(answers.first { $0.code != nil }?.text ?? "")")
            #expect(try await Self.pid(server) == first)
        }
    }

    @Test("Keeps a process alive while large calls and results are transferred")
    func megabytes() async throws {
        let code = """
            Parse.Cloud.define('pid', () => process.pid);
            Parse.Cloud.define('echo', request => request.params);
            """
        try await TunedServer(code) { $0.pingInterval = .milliseconds(1000) }.run { server, _, _ in
            let first = try #require(try await Self.pid(server))
            let text = JSONValue.string(String(repeating: "x", count: 12 << 20))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<6 {
                    group.addTask {
                        let answer = try await server.call("echo", ["text": text])
                        #expect(answer["result"]?["text"] == text, "\(answer.text.prefix(200))")
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await Self.pid(server) == first)
        }
    }

    @Test("Never starts a call that timed out while it was queued")
    func givenUp() async throws {
        let code = """
            let begun = 0;
            Parse.Cloud.define('begun', () => begun);
            Parse.Cloud.define('work', () => { begun++; const end = Date.now() + 300; while (Date.now() < end); });
            """
        try await TunedServer(code) { $0.timeLimit = .milliseconds(900) }.run { server, _, _ in
            let codes = try await withThrowingTaskGroup(of: Int?.self) { group in
                for _ in 0..<30 { group.addTask { try await server.call("work").code } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(codes.contains(124))
            let isQuiet = try await eventually { (try await server.call("begun")["result"]?.numberValue ?? 30) < 20 }
            #expect(isQuiet)
        }
    }

    @Test("Kills and replaces a process whose event loop hangs")
    func hung() async throws {
        try await TunedServer(Self.code) { $0.pingInterval = .milliseconds(400) }.run { server, _, _ in
            let first = try #require(try await Self.pid(server))
            #expect(try await server.call("spin").error == "Cloud code stopped.")
            let second = try #require(try await Self.pid(server))
            #expect(second != first)
            #expect(try await eventually { kill(first, 0) != 0 })
        }
    }

    @Test("Logs an unhandled rejection with the request id and keeps the process running")
    func unhandledRejection() async throws {
        try await CloudApp.serve(["main.js": Self.code]) { server, _ in
            let first = try #require(try await Self.pid(server))
            #expect(try await server.call("lost")["result"] == 1)
            #expect(try await server.logs("Unhandled promise rejection: Error: nobody waits for this"))
            let line = try await server.log().last {
                $0["message"]?.stringValue?.contains("nobody waits for this") ?? false
            }
            #expect(line?["id"]?.stringValue?.isEmpty == false, "\(line?.text ?? "")")
            #expect(line?["level"] == "error")
            #expect(try await Self.pid(server) == first)
        }
    }

    @Test("Rejects calls as overloaded if the queue is full, and completes the queued ones")
    func overload() async throws {
        try await TunedServer(Self.code) { settings in
            settings.openCalls = 2
            settings.waitingCalls = 2
        }.run { server, _, _ in
            let answers = try await withThrowingTaskGroup(of: TestAnswer.self) { group in
                for _ in 0..<8 { group.addTask { try await server.call("wait", ["ms": 1000]) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.filter { $0["result"] == "done" }.count == 4)
            let refused = answers.filter { $0.code == 155 }
            #expect(refused.count == 4)
            #expect(refused.allSatisfy { $0.error == "Cloud code is overloaded." })
        }
    }

    @Test("Accepts X-Parse-Cloud-Depth only with the master key")
    func claimedDepth() async throws {
        let code = """
            let running = 0;
            Parse.Cloud.define('wait', async request => {
              running++;
              await new Promise(resolve => setTimeout(resolve, request.params.ms));
              return 'done';
            });
            Parse.Cloud.define('running', () => running);
            """
        try await TunedServer(code) { settings in
            settings.openCalls = 1
            settings.waitingCalls = 0
        }.run { server, _, _ in
            async let open = server.call("wait", ["ms": 3000])
            let depth = ["X-Parse-Cloud-Depth": "5"]
            // A nested call needs no slot, because its outer call waits for it.
            let isRunning = try await eventually {
                try await server.call("running", as: .master, headers: depth)["result"] == 1
            }
            #expect(isRunning)
            let refused = try await server.call("running", headers: depth)
            #expect(refused.code == 155, "\(refused.text)")
            #expect(try await open["result"] == "done")
        }
    }

    @Test("Rejects messages over the frame limit with 116 and keeps the process running")
    func largeMessages() async throws {
        let code = """
            Parse.Cloud.define('process', () => process.pid);
            Parse.Cloud.define('echo', request => request.params.text.length);
            Parse.Cloud.define('all', async () => (await new Parse.Query('Song').find({ useMasterKey: true })).length);
            """
        try await TunedServer(code) { $0.frameLimit = 20_000 }.run { server, _, _ in
            let process = try await server.call("process")["result"]
            let long = String(repeating: "x", count: 30_000)
            let refused = try await server.call("echo", ["text": .string(long)])
            #expect(refused.code == 116, "\(refused.text)")
            let form = try await server.sendForm("/functions/echo", [.file("text", "f", Array(long.utf8))])
            #expect(form.code == 116, "\(form.text)")
            _ = try await server.create("Song", ["title": .string(long)])
            let all = try await server.call("all")
            #expect(all.code == 116, "\(all.text)")
            #expect(try await server.call("echo", ["text": "four"])["result"] == 4)
            #expect(try await server.call("process")["result"] == process)
        }
    }

    @Test("Times out a slow call with 124 and ignores its late result")
    func timeLimit() async throws {
        try await TunedServer(Self.code) { $0.timeLimit = .milliseconds(300) }.run { server, _, _ in
            let late = try await server.call("wait", ["ms": 600])
            #expect(late.code == 124 && late.error == "Cloud code timed out.", "\(late.text)")
            #expect(try await server.call("wait", ["ms": 1])["result"] == "done")
            let isAnswered = try await eventually { try await server.call("ends")["result"] == 2 }
            #expect(isAnswered)
            #expect(try await server.call("wait", ["ms": 1])["result"] == "done")
        }
    }

    @Test("After a reload new calls use the new code and open calls the old; a failed reload changes nothing")
    func reload() async throws {
        try await TunedServer(Self.version(1)).run { server, app, host in
            #expect(try await server.call("version")["result"] == 1)
            async let open = server.call("slow")
            #expect(try await eventually { try await server.call("slowCalls")["result"] == 1 })
            try app.write(Self.version(2), to: "main.js")
            await host.reload()
            #expect(try await server.call("version")["result"] == 2)
            try app.write("", to: "go")
            #expect(try await open["result"] == 1)
            try app.write("this is no JavaScript", to: "main.js")
            await host.reload()
            #expect(try await server.call("version")["result"] == 2)
        }
    }

    @Test("A process that loads while the master key is renewed gets the new key")
    func renewedKey() async throws {
        let key = RenewedKey("first")
        let code = """
            const fs = require('fs');
            const isFirst = !fs.existsSync(`${__dirname}/begun`);
            fs.writeFileSync(`${__dirname}/begun`, isFirst ? '1' : '2');
            Parse.Cloud.define('key', () => [Parse.masterKey, isFirst]);
            module.exports = isFirst ? undefined : new Promise(resolve => {
              const look = () => fs.existsSync(`${__dirname}/ready`) ? resolve() : setTimeout(look, 20);
              look();
            });
            """
        try await TunedServer(code) { ($0.renewedKey, $0.masterKeyTtl) = (key, 3600) }.run { server, app, host in
            #expect(try await server.call("key")["result"] == ["first", true])
            async let reload: Void = host.reload()
            let isLoading = try await eventually {
                try String(contentsOfFile: app.folder + "/cloud/begun", encoding: .utf8) == "2"
            }
            #expect(isLoading)
            key.value = "second"
            try app.write("", to: "ready")
            await reload
            #expect(try await eventually { try await server.call("key")["result"] == ["second", false] })
        }
    }

    @Test("Reloads again if a file changes during a reload")
    func changeWhileReloading() async throws {
        try await TunedServer(Self.version(1)).run { server, app, host in
            let slow = """
                require('fs').writeFileSync(`${__dirname}/begun`, '');
                module.exports = new Promise(resolve => {
                  const look = () => require('fs').existsSync(`${__dirname}/ready`) ? resolve() : setTimeout(look, 20);
                  look();
                });
                """
            try app.write(slow + Self.version(2), to: "main.js")
            async let reload: Void = host.reload()
            let begun = app.folder + "/cloud/begun"
            #expect(try await eventually { FileManager.default.fileExists(atPath: begun) })
            try app.write(Self.version(3), to: "main.js")
            await host.reload()
            try app.write("", to: "ready")
            await reload
            #expect(try await server.call("version")["result"] == 3)
        }
    }

    private static func version(_ number: Int) -> String {
        """
        Parse.Cloud.define('version', () => \(number));
        let slowCalls = 0;
        Parse.Cloud.define('slowCalls', () => slowCalls);
        Parse.Cloud.define('slow', () => {
          slowCalls += 1;
          return new Promise(resolve => {
            const look = () => require('fs').existsSync(`${__dirname}/go`) ? resolve(\(number)) : setTimeout(look, 20);
            look();
          });
        });
        """
    }

    @Test(
        "Replaces a process that crashes during a reload only once, whichever new process is ready first",
        arguments: [(1, [2, 3]), (1, [3, 2]), (2, [4, 3, 5])])
    func deathWhileReloading(workers: Int, order: [Int]) async throws {
        // The test controls when the processes of the reload and the replacement of the crashed one are ready.
        let code = """
            const fs = require('fs');
            fs.appendFileSync(`${__dirname}/started`, `${process.pid}\\n`);
            const number = fs.readFileSync(`${__dirname}/started`, 'utf8').trim().split('\\n').length;
            Parse.Cloud.define('pid', () => process.pid);
            module.exports = new Promise(resolve => {
              const look = () => {
                if (number > \(workers) && !fs.existsSync(`${__dirname}/ready${number}`)) return setTimeout(look, 20);
                fs.writeFileSync(`${__dirname}/loaded${number}`, '');
                resolve();
              };
              look();
            });
            """
        try await TunedServer(code) { $0.workers = workers }.run { server, app, host in
            let first = try Self.started(app)
            #expect(first.count == workers)
            async let reload: Void = host.reload()
            #expect(try await eventually { try Self.started(app).count == workers + 1 })
            let dying = try #require(first.first)
            kill(dying, SIGKILL)
            #expect(try await eventually { try Self.started(app).count == workers + 2 })
            for number in order {
                try app.write("", to: "ready\(number)")
                let isLoaded = try await eventually {
                    let started = try Self.started(app)
                    let isStopped = started.count >= number && kill(started[number - 1], 0) != 0
                    return isStopped || FileManager.default.fileExists(atPath: "\(app.folder)/cloud/loaded\(number)")
                }
                #expect(isLoaded)
                // Gives the server time to notice.
                try await Task.sleep(for: .milliseconds(100))
            }
            await reload
            #expect(try await eventually { try Self.started(app).filter { kill($0, 0) == 0 }.count == workers })
            let serving = try #require(try await Self.pid(server))
            #expect(!first.contains(serving))
            #expect(try Self.started(app).count == 2 * workers + 1)
        }
    }

    /// The processes that have started to load the code, in order.
    private static func started(_ app: CloudApp) throws -> [pid_t] {
        try String(contentsOfFile: app.folder + "/cloud/started", encoding: .utf8).split(separator: "\n")
            .compactMap { pid_t($0) }
    }

    @Test("watch reloads the code when a file changes")
    func watch() async throws {
        let files = ["main.js": "const part = require('./part'); Parse.Cloud.define('part', () => part);"]
        try await CloudApp.serve(
            files.merging(["part.js": "module.exports = 1;"]) { $1 }, ["watch": true]
        ) { server, app in
            #expect(try await server.call("part")["result"] == 1)
            try app.write("module.exports = 'two';", to: "part.js")
            #expect(try await eventually { try await server.call("part")["result"] == "two" })
        }
    }

    @Test("Warns that timers run in each process if cloudWorkers is above 1")
    func timers() async throws {
        try await CloudApp.serve(["main.js": "setInterval(() => {}, 60_000);"], ["cloudWorkers": 2]) { server, _ in
            let isLogged = try await server.logs("timers, which run in each of the processes of cloudWorkers")
            #expect(isLogged)
        }
    }

    @Test("Distributes calls over several processes")
    func workers() async throws {
        try await CloudApp.serve(["main.js": Self.code], ["cloudWorkers": 2]) { server, _ in
            // While one process is busy, the other one responds.
            async let busy = server.call("wait", ["ms": 1000])
            async let other = server.call("wait", ["ms": 1000])
            var pids: Set<Double> = []
            let haveBoth = try await eventually {
                async let first = server.call("pid")
                async let second = server.call("pid")
                for answer in try await [first, second] { pids.insert(answer["result"]?.numberValue ?? 0) }
                return pids.count == 2
            }
            #expect(haveBoth)
            #expect(try await [busy, other].allSatisfy { $0["result"] == "done" })
        }
    }
}
