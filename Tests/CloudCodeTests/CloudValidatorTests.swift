import CloudCode
import JSON
import ParseModel
import Testing

/// Validators in object form.
@Suite struct CloudValidatorTests {
    private static let target = CloudTarget.function("f")

    private func call(
        _ validator: JSONObject, _ params: JSONObject = [:], _ caller: CloudCaller = CloudCaller()
    ) async throws -> JSONObject? {
        let host = PlainHost([CloudRegistration(Self.target, validator: try CloudValidator(json: validator))]) {
            CloudResult(value: .object($0.params))
        }
        var call = CloudCall(Self.target, caller: caller)
        call.params = params
        return try await CloudEngine.with(host).call(call)?.value?.objectValue
    }

    private static let user: CloudCaller = {
        var caller = CloudCaller()
        caller.user = ["objectId": "kim", "phone": "1", "color": "red"]
        caller.roles = ["role:A", "role:B"]
        return caller
    }()

    private static let master: CloudCaller = {
        var caller = CloudCaller()
        caller.isMaster = true
        return caller
    }()

    /// A validator, parameters, the caller, and the error text, or nil if the call is allowed.
    private static let cases:
        [(name: String, validator: JSONObject, params: JSONObject, CloudCaller, refusal: String?)] = [
            ("anonymous", ["requireUser": true], [:], CloudCaller(), "Validation failed. Please login to continue."),
            ("user", ["requireUser": true], [:], user, nil),
            ("master key", ["requireUser": true], [:], master, nil),
            (
                "master key with validateMasterKey", ["validateMasterKey": true, "fields": ["foo"]], [:], master,
                "Validation failed. Please specify data for foo."
            ),
            (
                "master key required", ["requireMaster": true], [:], user,
                "Validation failed. Master key is required to complete this request."
            ),
            ("one of the roles", ["requireAnyUserRoles": ["A", "C"]], [:], user, nil),
            (
                "none of the roles", ["requireAnyUserRoles": ["C"]], [:], user,
                "Validation failed. User does not match the required roles."
            ),
            (
                "role, anonymous", ["requireAnyUserRoles": ["C"]], [:], CloudCaller(),
                "Validation failed. Please login to continue."
            ),
            ("all roles", ["requireAllUserRoles": ["A", "B"]], [:], user, nil),
            (
                "not all of the roles", ["requireAllUserRoles": ["A", "C"]], [:], user,
                "Validation failed. User does not match all the required roles."
            ),
            ("user field", ["requireUserKeys": ["phone"]], [:], user, nil),
            (
                "missing user field", ["requireUserKeys": ["mail"]], [:], user,
                "Validation failed. Please set data for mail on your account."
            ),
            (
                "user field, anonymous", ["requireUserKeys": ["mail"]], [:], CloudCaller(),
                "Please login to make this request."
            ),
            (
                "user option, anonymous", ["requireUserKeys": ["color": ["options": ["red"]]]], [:], CloudCaller(),
                "Validation failed. Please login to continue."
            ),
            ("allowed user option", ["requireUserKeys": ["color": ["options": ["red"]]]], [:], user, nil),
            (
                "wrong user option", ["requireUserKeys": ["color": ["options": "blue", "error": "Blue only."]]],
                [:], user,
                "Blue only."
            ),
            ("null", ["fields": ["a"]], ["a": .null], user, "Validation failed. Please specify data for a."),
            ("missing field", ["fields": ["a": "b"]], ["a": 1], user, "Validation failed. Please specify data for b."),
            ("right type", ["fields": ["n": ["type": "Number"]]], ["n": 1], user, nil),
            (
                "wrong type", ["fields": ["n": ["type": "Number"]]], ["n": "1"], user,
                "Validation failed. Invalid type for n. Expected: number"
            ),
            ("missing field with a type", ["fields": ["n": ["type": "Number"]]], [:], user, nil),
            ("array", ["fields": ["l": ["type": "Array"]]], ["l": []], user, nil),
            (
                "date", ["fields": ["d": ["type": "Date"]]],
                ["d": ["__type": "Date", "iso": "2016-05-22T09:00:00.000Z"]], user, nil
            ),
            ("allowed option", ["fields": ["o": ["options": ["a", "b"]]]], ["o": "a"], user, nil),
            (
                "wrong option", ["fields": ["o": ["options": ["a", "b"]]]], ["o": "c"], user,
                "Validation failed. Invalid option for o. Expected: a, b"
            ),
            ("missing field with options", ["fields": ["o": ["options": ["a", "b"]]]], [:], user, nil),
            ("what the host says", ["asksHost": true], ["host": "refuses"], user, "The host refuses."),
        ]

    @Test("Allows a call or rejects it with the validator's error")
    func refusals() async throws {
        for (name, validator, params, caller, refusal) in Self.cases {
            do {
                #expect(try await call(validator, params, caller) != nil, "\(name)")
                #expect(refusal == nil, "\(name) is let through")
            } catch let error as ParseError {
                let code = name == "what the host says" ? 141 : 142
                #expect(error == ParseError(code, refusal ?? "nothing"), "\(name)")
            }
        }
    }

    @Test("A new user counts as the caller of save triggers, but not of log-in and delete triggers")
    func newUsers() async throws {
        let validator = try CloudValidator(json: ["requireUser": true])
        for (event, isLetThrough) in [
            (.beforeSave, true), (.afterSave, true), (.beforeLogin, false), (.beforeDelete, false),
        ] as [(CloudEvent, Bool)] {
            let target = CloudTarget.trigger(event, "_User")
            let host = PlainHost([CloudRegistration(target, validator: validator)]) { _ in CloudResult() }
            var call = CloudCall(target)
            call.object = ["className": "_User", "username": "kim"]
            if isLetThrough {
                _ = try await CloudEngine.with(host).call(call)
            } else {
                let error = await #expect(throws: ParseError.self) { try await CloudEngine.with(host).call(call) }
                #expect(error?.code == 142, "\(event)")
            }
        }
    }

    @Test("Fills in defaults for missing parameters")
    func defaults() async throws {
        let validator: JSONObject = ["fields": ["a": ["default": 5, "required": true], "b": ["default": 6]]]
        #expect(try await call(validator, ["b": 1]) == ["b": 1, "a": 5])
    }

    @Test(
        "Rejects invalid validators when they are declared",
        arguments: [
            (["nosuch": true], "nosuch is not a supported parameter for Cloud Function validations."),
            (
                ["requireUser": "yes"],
                "Invalid type for Cloud Function validation key requireUser. Expected boolean, actual string"
            ),
            (["fields": 1], "Invalid type for Cloud Function validation key fields. Expected array, actual number"),
            (["fields": ["a": ["nosuch": 1]]], "nosuch is not a supported parameter for Cloud Function validations."),
        ] as [(JSONObject, String)])
    func declarations(json: JSONObject, text: String) {
        func read() throws { _ = try CloudValidator(json: json) }
        let error = #expect(throws: ParseError.self) { try read() }
        #expect(error?.message == text)
    }
}
