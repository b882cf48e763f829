/// The options of jobs.
enum JobOptions {
    /// Their rows in the table.
    static let table = [
        OptionDefinition(
            "jobSchedules", "ROOST_JOB_SCHEDULES", .boolean,
            "Whether jobs are run when their schedules say so, by one of the processes on the database; default false"),
        OptionDefinition(
            "maximumJobs", "ROOST_MAXIMUM_JOBS", .number, "The most jobs that run at a time in a process; default 100"),
    ]
}
