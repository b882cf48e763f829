import Foundation
import JSON
import NodeHost
import ServerConfiguration
import TestSupport
import Testing

@Suite("Options that are functions")
struct OptionFunctionTests {
    private static func code(_ options: String) -> String {
        """
        const { ParseServer } = require('parse-server');
        new ParseServer({
          appId: 'testApp', masterKey: 'testMaster', appName: 'Tests', publicServerURL: 'http://127.0.0.1/parse',
          emailAdapter: { sendMail: async mail => console.log(`mail to ${mail.to}`) }, \(options)
        });
        """
    }

    private static func logIn(_ server: TestServer, _ name: String) async throws -> TestAnswer {
        try await server.send("POST", "/login", ["username": .string(name), "password": "secret"])
    }

    private static func signUp(_ server: TestServer, _ name: String) async throws -> TestAnswer {
        let user: JSONObject = [
            "username": .string(name), "password": "secret", "email": .string("\(name)@m.example"),
        ]
        return try await server.send("POST", "/users", .object(user))
    }

    @Test("verifyUserEmails and preventLoginWithUnverifiedEmail decide by the user and the kind of sign-in")
    func perUser() async throws {
        let options = """
            verifyUserEmails: async ({ object, master, ip, createdWith }) => {
              console.log(`verify ${object.className} ${object.get('username')} ${object.get('password')} ${master} ${ip} `
                + `${createdWith?.action} ${createdWith?.authProvider}`);
              return object.get('username') !== 'kim';
            },
            preventLoginWithUnverifiedEmail: ({ object, createdWith }) =>
              object.get('username') === 'lee' && createdWith.action === 'login',
            """
        try await IndexApp.serve(["index.js": Self.code(options)]) { server, _, _ in
            let kim = try await Self.signUp(server, "kim")
            #expect(kim.status == 201 && kim["sessionToken"] != nil, "\(kim.text)")
            #expect(try await server.logs("verify _User kim undefined false 127.0.0.1 signup password"))
            #expect(try await Self.logIn(server, "kim").status == 200)
            let lee = try await Self.signUp(server, "lee")
            #expect(lee.status == 201 && lee["sessionToken"] != nil, "\(lee.text)")
            #expect(try await server.logs("mail to lee@m.example"))
            let refused = try await Self.logIn(server, "lee")
            #expect(refused.code == 205, "\(refused.text)")
            let max = try await Self.signUp(server, "max")
            #expect(max.status == 201, "\(max.text)")
            #expect(try await Self.logIn(server, "max").status == 200)
        }
    }

    @Test("preventLoginWithUnverifiedEmail blocks a log-in only if it returns true or throws")
    func failures() async throws {
        let options = """
            verifyUserEmails: true,
            preventLoginWithUnverifiedEmail: ({ object, createdWith }) => {
              if (createdWith.action === 'login' && object.get('username') === 'kim') throw new Parse.Error(141, 'broken');
              return 'yes';
            },
            """
        try await IndexApp.serve(["index.js": Self.code(options)]) { server, _, _ in
            for name in ["kim", "lee"] { #expect(try await Self.signUp(server, name).status == 201) }
            let refused = try await Self.logIn(server, "kim")
            #expect(refused.code == 141 && refused.error == "broken", "\(refused.text)")
            #expect(refused["sessionToken"] == nil)
            #expect(try await Self.logIn(server, "lee").status == 200)
        }
    }

    @Test("Option functions get the user's custom fields at sign-up and at log-in")
    func wholeUser() async throws {
        let options = """
            verifyUserEmails: true,
            preventLoginWithUnverifiedEmail: ({ object }) => object.get('role') === 'staff',
            """
        try await IndexApp.serve(["index.js": Self.code(options)]) { server, _, _ in
            let kim: JSONObject = [
                "username": "kim", "password": "secret", "email": "kim@m.example", "role": "staff",
            ]
            let signedUp = try await server.send("POST", "/users", .object(kim))
            #expect(signedUp.status == 201 && signedUp["sessionToken"] == nil, "\(signedUp.text)")
            let refused = try await Self.logIn(server, "kim")
            #expect(refused.code == 205 && refused["sessionToken"] == nil, "\(refused.text)")
        }
    }

    @Test("Keeps the previous verification link if sendUserEmailVerification fails during a resend")
    func failedResend() async throws {
        let options = """
            verifyUserEmails: true, emailVerifySuccessOnInvalidEmail: false,
            sendUserEmailVerification: ({ resendRequest, user }) => {
              if (globalThis.asked) throw new Parse.Error(141, 'broken');
              return (globalThis.asked = true);
            },
            """
        try await IndexApp.serve(["index.js": Self.code(options)]) { server, _, _ in
            func token() async throws -> [[String?]] {
                try await server.rows("SELECT \"_email_verify_token\" FROM \"_User\"")
            }
            #expect(try await Self.signUp(server, "kim").status == 201)
            let sent = try await token()
            let resent = try await server.send("POST", "/verificationEmailRequest", ["email": "kim@m.example"])
            #expect(resent.code == 141, "\(resent.text)")
            #expect(try await token() == sent)
        }
    }

    @Test("Renews the verification link at most ten times, and answers further requests without effect")
    func floods() async throws {
        let options = """
            verifyUserEmails: true, emailVerifySuccessOnInvalidEmail: false, sendUserEmailVerification: () => true,
            """
        try await IndexApp.serve(["index.js": Self.code(options)]) { server, _, _ in
            #expect(try await Self.signUp(server, "kim").status == 201)
            var tokens: Set<String?> = []
            for _ in 0..<15 {
                let resent = try await server.send("POST", "/verificationEmailRequest", ["email": "kim@m.example"])
                #expect(resent.status == 200, "\(resent.text)")
                let rows = try await server.rows("SELECT \"_email_verify_token\" FROM \"_User\"")
                tokens.insert(rows.first?.first ?? nil)
            }
            #expect(tokens.count == 10)
        }
    }

    @Test("Email changes that a function rejects count toward the rate limit only after a hundred")
    func refusedChanges() async throws {
        let options = """
            verifyUserEmails: ({ object }) => {
              if (object.get('email')?.startsWith('no')) throw new Parse.Error(141, 'refused');
              return true;
            },
            """
        try await IndexApp.serve(["index.js": Self.code(options)]) { server, _, _ in
            let kim = try await server.signUp("kim")
            let lee = try await server.signUp("lee")
            func change(_ user: (id: String, token: String), to name: String) async throws -> TestAnswer {
                try await server.send(
                    "PUT", "/users/\(user.id)", ["email": .string("\(name)@m.example")], as: .session(user.token))
            }
            for number in 0..<12 {
                let refused = try await change(kim, to: "no\(number)")
                #expect(refused.code == 141 && refused.error == "refused", "\(refused.text)")
            }
            for number in 0..<10 { #expect(try await change(kim, to: "kim\(number)").status == 200) }
            for name in ["kim10", "no12"] { #expect(try await change(kim, to: name).code == 155) }
            // Rejected requests call functions, too. The last ten count toward the limit.
            for number in 0..<110 { #expect(try await change(lee, to: "no\(number)").code == 141) }
            #expect(try await change(lee, to: "no110").code == 155)
        }
    }

    @Test("sendUserEmailVerification decides whether the email is sent, and resends call verifyUserEmails again")
    func sending() async throws {
        let options = """
            verifyUserEmails: ({ resendRequest }) => { console.log(`resend ${resendRequest}`); return true; },
            sendUserEmailVerification: async ({ user, master }) => {
              console.log(`send ${user.get('email')} ${master}`);
              return user.get('username') === 'lee' ? 1 : 0;
            },
            """
        try await IndexApp.serve(["index.js": Self.code(options)]) { server, _, _ in
            #expect(try await Self.signUp(server, "kim").status == 201)
            #expect(try await server.logs("send kim@m.example false"))
            #expect(try await Self.signUp(server, "lee").status == 201)
            #expect(try await server.logs("mail to lee@m.example"))
            let resent = try await server.send("POST", "/verificationEmailRequest", ["email": "lee@m.example"])
            #expect(resent.status == 200, "\(resent.text)")
            #expect(try await server.logs("resend true"))
        }
    }

    @Test("Passwords must pass validatorCallback and validatorPattern at sign-up and when changed")
    func passwords() async throws {
        let options = """
            passwordPolicy: {
              validatorPattern: /^s/, validationError: 'weak',
              async validatorCallback(password) {
                if (password === 'sbroken-one') throw new Error('no dictionary');
                return this.validationError === 'weak' && password.length >= 8;
              },
            },
            """
        try await IndexApp.serve(["index.js": Self.code(options)]) { server, _, _ in
            func signUp(_ password: String) async throws -> TestAnswer {
                let user: JSONObject = ["username": .string(password), "password": .string(password)]
                return try await server.send("POST", "/users", .object(user))
            }
            for password in ["short", "long-enough"] {
                let refused = try await signUp(password)
                #expect(refused.code == 142 && refused.error == "weak", "\(refused.text)")
            }
            let broken = try await signUp("sbroken-one")
            #expect(broken.code == 141 && broken.error == "no dictionary", "\(broken.text)")
            let long = try await signUp("s" + String(repeating: "x", count: 1024))
            #expect(long.code == 142, "\(long.text)")
            let user = try await signUp("suffices")
            #expect(user.status == 201, "\(user.text)")
            let path = "/users/\(try user.string("objectId"))"
            for (password, code) in [("short", 142), ("sbroken-one", 141), ("suffices-too", nil)] as [(String, Int?)] {
                let changed = try await server.send(
                    "PUT", path, ["password": .string(password)], as: .session(try user.string("sessionToken")))
                #expect(changed.code == code, "\(changed.text)")
            }
            #expect(try await server.rows("SELECT count(*)::text FROM \"_User\"") == [["1"]])
        }
    }

    @Test("Password policies use parse-server's default error, and a policy flag replaces the function")
    func policies() async throws {
        let options = "passwordPolicy: { validatorCallback: () => 0 },"
        try await IndexApp.serve(["index.js": Self.code(options)]) { server, _, app in
            let refused = try await Self.signUp(server, "kim")
            #expect(refused.code == 142, "\(refused.text)")
            #expect(refused.error == "Password does not meet the Password Policy requirements.")
            let served = try await app.read()
            var (configuration, _) = try Configuration.load(
                file: JSONValue.object(served.options).serialized(), environment: [:],
                flags: ["--passwordPolicy", #"{"doNotAllowUsername":true}"#])
            served.configure(&configuration)
            #expect(configuration.cloudMain.app?.functions == [])
        }
    }

    @Test("Calls the functions masterKey and publicServerURL once at start, with network access")
    func onceAtStart() async throws {
        let code = """
            const http = require('http');
            const { ParseServer } = require('parse-server');
            new ParseServer({
              appId: 'testApp', publicServerURL: async () => 'https://api.example/parse',
              masterKey: () => new Promise((resolve, reject) => {
                const request = http.get({ host: '127.0.0.1', port: 1, path: '/key' });
                request.on('error', error => (error.code === 'ECONNREFUSED' && !/read/.test(error.message)
                  ? resolve('asked') : reject(error)));
              }),
              sendUserEmailVerification: () => true,
            });
            """
        try await IndexApp.with(["index.js": code]) { app in
            let served = try await app.read()
            #expect(served.options["masterKey"] == "asked")
            #expect(served.options["publicServerURL"] == "https://api.example/parse")
            #expect(served.options["sendUserEmailVerification"] == true)
            #expect(served.undecided.isEmpty, "\(served.undecided)")
            let lines = served.notes.map(\.line)
            for (name, words) in [
                ("masterKey", "called once at start"), ("publicServerURL", "called once at start"),
                ("sendUserEmailVerification", "which Node.js calls on each use"),
            ] {
                #expect(lines.contains { $0.hasPrefix(name) && $0.contains("taken") && $0.contains(words) }, "\(lines)")
            }
        }
    }

    @Test("masterKeyTtl renews the master key, and no key is accepted while the function returns none")
    func renewedKey() async throws {
        let code = """
            const { readFileSync } = require('fs');
            const { ParseServer } = require('parse-server');
            new ParseServer({
              appId: 'testApp', masterKeyTtl: 1, masterKey: async () => readFileSync(__dirname + '/key', 'utf8'),
              cloud: Parse => Parse.Cloud.define('key', () => Parse.masterKey),
            });
            """
        try await IndexApp.serve(["index.js": code, "key": "first"]) { server, _, app in
            func isAdmitted(_ key: String) async throws -> Bool {
                try await server.send("GET", "/schemas", headers: ["X-Parse-Master-Key": key]).status == 200
            }
            #expect(try await isAdmitted("first"))
            try app.write("second", to: "key")
            #expect(try await eventually { try await isAdmitted("second") })
            #expect(try await !isAdmitted("first"))
            #expect(try await eventually { try await server.call("key")["result"] == "second" })
            try app.write("", to: "key")
            #expect(try await eventually { try await !isAdmitted("second") })
            #expect(try await !isAdmitted(""))
            #expect(try await !isAdmitted("first"))
            try app.write("third", to: "key")
            #expect(try await eventually { try await isAdmitted("third") })
        }
    }

    @Test("Flags and environment variables override functions")
    func overridden() async throws {
        let options = """
            verifyUserEmails: () => false, preventLoginWithUnverifiedEmail: () => false,
            sendUserEmailVerification: () => false,
            """
        try await IndexApp.with(["index.js": Self.code(options)]) { app in
            let served = try await app.read()
            var (configuration, _) = try Configuration.load(
                file: JSONValue.object(served.options).serialized(),
                environment: ["PARSE_SERVER_VERIFY_USER_EMAILS": "true"],
                flags: ["--preventLoginWithUnverifiedEmail", "true"])
            served.configure(&configuration)
            #expect(configuration.cloudMain.app?.functions == [.sendUserEmailVerification])
        }
    }

    @Test(
        "Reports a masterKey function that throws, returns no key or takes too long",
        arguments: [
            ("() => { throw new Error('no vault'); }", "no vault"), ("async () => ''", "it returned no string"),
            ("() => undefined", "it returned no string"), ("() => new Promise(() => {})", "it took longer than 10 s"),
        ])
    func noKey(function: String, reason: String) async throws {
        let code = """
            const { ParseServer } = require('parse-server');
            new ParseServer({ appId: 'testApp', masterKey: \(function) });
            """
        try await IndexApp.with(["index.js": code]) { app in
            let served = try await app.read()
            #expect(served.options["masterKey"] == nil)
            let text = try #require(served.undecided.first).text
            #expect(text.hasPrefix("masterKey: its function failed") && text.contains(reason), "\(text)")
        }
    }
}
