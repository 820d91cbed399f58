CREATE TABLE public.benchmark (
    id integer NOT NULL,
    project_id integer NOT NULL,
    name text NOT NULL,
    metric text NOT NULL,
    version text NOT NULL,
    unit text NOT NULL,
    interval_level double precision NOT NULL,
    parameter_names json NOT NULL,
    continues_id integer
);
CREATE TABLE public.ceiling (
    machine_id integer NOT NULL,
    environment_id integer NOT NULL,
    quantity text NOT NULL,
    value double precision NOT NULL,
    measured_at timestamp with time zone
);
CREATE TABLE public.commits (
    id integer NOT NULL,
    project_id integer NOT NULL,
    hash text NOT NULL,
    date timestamp with time zone,
    subject text,
    "position" integer,
    is_orphaned boolean,
    ordered_at timestamp with time zone
);
CREATE TABLE public.decision (
    id integer NOT NULL,
    source_id integer,
    kind text NOT NULL,
    content json NOT NULL
);
CREATE TABLE public.environment (
    id integer NOT NULL,
    name text NOT NULL,
    details json NOT NULL
);
CREATE TABLE public.execution (
    run_id integer NOT NULL,
    benchmark_id integer NOT NULL,
    started_at timestamp with time zone,
    duration_s double precision
);
CREATE TABLE public.fusebench_version (
    version_num character varying(32) NOT NULL
);
CREATE TABLE public.judged_place (
    project_id integer NOT NULL,
    machine_id integer NOT NULL,
    environment_id integer NOT NULL,
    n_runs integer NOT NULL,
    n_values bigint NOT NULL,
    positions bigint NOT NULL,
    read_at timestamp with time zone,
    detector bytea NOT NULL
);
CREATE TABLE public.judged_series (
    series_id integer NOT NULL,
    least_change double precision NOT NULL,
    digest bytea NOT NULL,
    found text
);
CREATE TABLE public.machine (
    id integer NOT NULL,
    name text NOT NULL,
    details json NOT NULL
);
CREATE TABLE public.measurement (
    run_id integer NOT NULL,
    point_id integer NOT NULL,
    ruler_version text NOT NULL,
    measured_at timestamp with time zone NOT NULL,
    together text,
    state text NOT NULL,
    reason text,
    disturbed text,
    provider_detail text,
    stop text,
    flop double precision,
    min_bytes double precision,
    floor_s double precision,
    conditions json NOT NULL,
    latency_between_sd_s double precision,
    speedup_between_sd double precision,
    visits json
);
CREATE TABLE public.parameter (
    point_id integer NOT NULL,
    "position" integer NOT NULL,
    name text NOT NULL,
    type text NOT NULL,
    text text NOT NULL,
    number double precision
);
CREATE TABLE public.point (
    id integer NOT NULL,
    project_id integer NOT NULL,
    subject text NOT NULL,
    key text NOT NULL
);
CREATE TABLE public.profile (
    run_id integer NOT NULL,
    point_id integer NOT NULL,
    measured_at timestamp with time zone NOT NULL,
    state text NOT NULL,
    reason text,
    operator_count double precision,
    operator_time_s double precision,
    kernel_launches double precision,
    device_time_s double precision,
    peak_memory_bytes double precision,
    bound text,
    stacks bytea,
    trace text,
    expected_operator_count double precision,
    expected_kernel_launches double precision,
    unexpected text,
    overhead_s double precision,
    overhead_in text,
    bound_detail text,
    allocated_bytes double precision,
    freed_bytes double precision,
    operators_min_bytes double precision,
    device_busy_s double precision,
    gap_count double precision,
    gap_time_s double precision,
    longest_gap_s double precision,
    gaps json,
    runtime_calls json,
    missing json,
    expected_bytes double precision,
    expected_time_s double precision,
    compilations double precision
);
CREATE TABLE public.profile_kernel (
    run_id integer NOT NULL,
    point_id integer NOT NULL,
    "position" integer NOT NULL,
    name text NOT NULL,
    count double precision NOT NULL,
    device_time_s double precision
);
CREATE TABLE public.profile_operator (
    run_id integer NOT NULL,
    point_id integer NOT NULL,
    "position" integer NOT NULL,
    name text NOT NULL,
    count double precision NOT NULL,
    self_time_s double precision,
    total_time_s double precision,
    is_compute boolean NOT NULL,
    inputs text,
    allocated_bytes double precision,
    freed_bytes double precision,
    min_bytes double precision,
    min_bytes_reason text,
    outermost double precision
);
CREATE TABLE public.project (
    id integer NOT NULL,
    name text NOT NULL
);
CREATE TABLE public.quarantine (
    path text NOT NULL,
    kind text NOT NULL,
    reason text NOT NULL,
    signature text NOT NULL,
    found_at timestamp with time zone NOT NULL
);
CREATE TABLE public.run (
    id integer NOT NULL,
    project_id integer NOT NULL,
    uid text NOT NULL,
    commit_id integer NOT NULL,
    machine_id integer NOT NULL,
    environment_id integer NOT NULL,
    source_id integer,
    ordered_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    n_values integer NOT NULL,
    conditions json NOT NULL,
    "position" integer DEFAULT 0 NOT NULL
);
CREATE TABLE public.series (
    id integer NOT NULL,
    benchmark_id integer NOT NULL,
    point_id integer NOT NULL,
    machine_id integer NOT NULL,
    environment_id integer NOT NULL
);
CREATE TABLE public.source (
    id integer NOT NULL,
    path text NOT NULL,
    kind text NOT NULL,
    project_id integer,
    signature text NOT NULL,
    content_hash text NOT NULL,
    n_bytes_read bigint NOT NULL,
    read_at timestamp with time zone NOT NULL
);
CREATE TABLE public.triage (
    id integer NOT NULL,
    series_id integer NOT NULL,
    commit_id integer NOT NULL,
    decision text NOT NULL,
    note text,
    decided_by text,
    decided_at timestamp with time zone,
    decision_id integer
);
CREATE TABLE public.value (
    run_id integer NOT NULL,
    series_id integer NOT NULL,
    state text NOT NULL,
    median double precision,
    ci_low double precision,
    ci_high double precision,
    q25 double precision,
    q75 double precision,
    sample_count integer,
    calls_per_sample bigint,
    samples bytea,
    reason text
);
INSERT INTO public.benchmark VALUES (1, 2, 'mlp', 'latency_s', '1', 's', 0.95, '[]', NULL);
INSERT INTO public.benchmark VALUES (2, 2, 'mlp', 'speedup_vs_eager', '1', '', 0.95, '[]', NULL);
INSERT INTO public.benchmark VALUES (3, 2, 'mlp', 'error_rel', '1', '', 0.95, '[]', NULL);
INSERT INTO public.benchmark VALUES (4, 2, 'mlp', 'operator_count', '1', '', 0.95, '[]', NULL);
INSERT INTO public.benchmark VALUES (5, 2, 'mlp', 'operator_time_s', '1', 's', 0.95, '[]', NULL);
INSERT INTO public.benchmark VALUES (6, 2, 'mlp', 'peak_memory_bytes', '1', 'bytes', 0.95, '[]', NULL);
INSERT INTO public.benchmark VALUES (7, 1, 's.time_it', 'time', 'v1', 'seconds', 0.99, '[]', NULL);
INSERT INTO public.benchmark VALUES (8, 1, 's.track_grid', 'track', 'g1', 'rows', 0.99, '["n", "mode"]', NULL);
INSERT INTO public.benchmark VALUES (9, 1, 's.time_it', 'time', 'v2', 'seconds', 0.99, '[]', NULL);
INSERT INTO public.ceiling VALUES (2, 1, 'matmul_flop_per_s.float32', 50000000000, '2026-01-01 00:00:00+00');
INSERT INTO public.commits VALUES (1, 2, 'ee2d5e74992a6ee200233f5877240fcee9409a6d', '2026-01-06 12:00:00+00', 'Change number 1', NULL, NULL, '2026-01-06 12:00:00+00');
INSERT INTO public.commits VALUES (2, 2, 'efef344398e804d501e1556f76e665f9e882f05a', '2026-01-05 12:00:00+00', 'Change number 0', NULL, NULL, '2026-01-05 12:00:00+00');
INSERT INTO public.commits VALUES (3, 1, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', '2023-11-14 22:13:20+00', NULL, NULL, NULL, '2023-11-14 22:13:20+00');
INSERT INTO public.commits VALUES (4, 1, 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb', '2023-11-14 22:13:21+00', NULL, NULL, NULL, '2023-11-14 22:13:21+00');
INSERT INTO public.environment VALUES (1, 'py3.11-cpu-t2', '{}');
INSERT INTO public.environment VALUES (2, 'virtualenv-py3.11', '{"python": "3.11"}');
INSERT INTO public.execution VALUES (3, 7, '2023-11-14 22:15:00+00', 1.5);
INSERT INTO public.execution VALUES (3, 8, NULL, NULL);
INSERT INTO public.execution VALUES (4, 9, '2023-11-14 22:15:00+00', 1.5);
INSERT INTO public.execution VALUES (4, 8, NULL, NULL);
INSERT INTO public.fusebench_version VALUES ('0008');
INSERT INTO public.judged_place VALUES (1, 1, 2, 2, 10, 0, NULL, '\x0101010101010101010101010101010101');
INSERT INTO public.judged_series VALUES (1, 0.03, '\x0101010101010101010101010101010101', NULL);
INSERT INTO public.machine VALUES (1, 'laptop', '{"cpu": "x"}');
INSERT INTO public.machine VALUES (2, 'bench-01', '{}');
INSERT INTO public.measurement VALUES (1, 1, '1', '2026-01-06 13:05:00+00', '754d57d3', 'ok', NULL, NULL, NULL, 'precision', 4194304, 98304, 1.8777216e-05, '{"python": "3.11.9", "torch": "2.13.0", "cpu_mhz": 2600.0, "load_by_others": 0.1}', NULL, NULL, NULL);
INSERT INTO public.measurement VALUES (1, 2, '1', '2026-01-06 13:05:00+00', '754d57d3', 'ok', NULL, NULL, NULL, 'precision', 4194304, 98304, 1.173576e-05, '{"python": "3.11.9", "torch": "2.13.0", "cpu_mhz": 2600.0, "load_by_others": 0.1}', NULL, NULL, NULL);
INSERT INTO public.measurement VALUES (2, 1, '1', '2026-01-05 13:05:00+00', '754d57d3', 'ok', NULL, NULL, NULL, 'precision', 4194304, 98304, 1.8777216e-05, '{"python": "3.11.9", "torch": "2.13.0", "cpu_mhz": 2600.0, "load_by_others": 0.1}', NULL, NULL, NULL);
INSERT INTO public.measurement VALUES (2, 2, '1', '2026-01-05 13:05:00+00', '754d57d3', 'ok', NULL, NULL, NULL, 'precision', 4194304, 98304, 1.173576e-05, '{"python": "3.11.9", "torch": "2.13.0", "cpu_mhz": 2600.0, "load_by_others": 0.1}', NULL, NULL, NULL);
INSERT INTO public.parameter VALUES (1, 0, 'provider', 'str', 'eager', NULL);
INSERT INTO public.parameter VALUES (1, 1, 'pass', 'str', 'forward', NULL);
INSERT INTO public.parameter VALUES (1, 2, 'dtype', 'str', 'float32', NULL);
INSERT INTO public.parameter VALUES (1, 3, 'activation', 'str', 'gelu', NULL);
INSERT INTO public.parameter VALUES (1, 4, 'batch', 'int', '64', 64);
INSERT INTO public.parameter VALUES (1, 5, 'hidden', 'int', '256', 256);
INSERT INTO public.parameter VALUES (1, 6, 'dim', 'int', '64', 64);
INSERT INTO public.parameter VALUES (1, 7, 'cache', 'str', 'warm', NULL);
INSERT INTO public.parameter VALUES (1, 8, 'weights', 'str', 'plain', NULL);
INSERT INTO public.parameter VALUES (1, 9, 'threads', 'int', '2', 2);
INSERT INTO public.parameter VALUES (2, 0, 'provider', 'str', 'fused', NULL);
INSERT INTO public.parameter VALUES (2, 1, 'pass', 'str', 'forward', NULL);
INSERT INTO public.parameter VALUES (2, 2, 'dtype', 'str', 'float32', NULL);
INSERT INTO public.parameter VALUES (2, 3, 'activation', 'str', 'gelu', NULL);
INSERT INTO public.parameter VALUES (2, 4, 'batch', 'int', '64', 64);
INSERT INTO public.parameter VALUES (2, 5, 'hidden', 'int', '256', 256);
INSERT INTO public.parameter VALUES (2, 6, 'dim', 'int', '64', 64);
INSERT INTO public.parameter VALUES (2, 7, 'cache', 'str', 'warm', NULL);
INSERT INTO public.parameter VALUES (2, 8, 'weights', 'str', 'plain', NULL);
INSERT INTO public.parameter VALUES (2, 9, 'threads', 'int', '2', 2);
INSERT INTO public.parameter VALUES (4, 0, 'n', 'int', '1', 1);
INSERT INTO public.parameter VALUES (4, 1, 'mode', 'str', 'a', NULL);
INSERT INTO public.parameter VALUES (5, 0, 'n', 'int', '1', 1);
INSERT INTO public.parameter VALUES (5, 1, 'mode', 'none', 'None', NULL);
INSERT INTO public.parameter VALUES (6, 0, 'n', 'int', '2', 2);
INSERT INTO public.parameter VALUES (6, 1, 'mode', 'str', 'a', NULL);
INSERT INTO public.parameter VALUES (7, 0, 'n', 'int', '2', 2);
INSERT INTO public.parameter VALUES (7, 1, 'mode', 'none', 'None', NULL);
INSERT INTO public.point VALUES (1, 2, 'mlp', '459bf7e944405272b7bc431ae8e9234b');
INSERT INTO public.point VALUES (2, 2, 'mlp', '81acc59bca4c6b5e6798cb2e6de1239b');
INSERT INTO public.point VALUES (3, 1, 's.time_it', '7ebb3c7c2a87b1a2f8a7ed729ecb040d');
INSERT INTO public.point VALUES (4, 1, 's.track_grid', '96a35a8ab695709fd2e7bfd1db1d0253');
INSERT INTO public.point VALUES (5, 1, 's.track_grid', 'd6c63aad2b6f9bfca3859b71dac83dbe');
INSERT INTO public.point VALUES (6, 1, 's.track_grid', '1ed9dbfcce37a6088c5c9b38213dfe5c');
INSERT INTO public.point VALUES (7, 1, 's.track_grid', 'bdf7a66f6a28a9abda1737d22ddcc702');
INSERT INTO public.profile VALUES (1, 1, '2026-01-06 13:05:00+00', 'ok', NULL, 4, 3.7554432e-05, NULL, NULL, 262144, 'compute', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.profile VALUES (1, 2, '2026-01-06 13:05:00+00', 'ok', NULL, 2, 2.347152e-05, NULL, NULL, 131072, 'compute', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.profile VALUES (2, 1, '2026-01-05 13:05:00+00', 'ok', NULL, 4, 3.7554432e-05, NULL, NULL, 262144, 'compute', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.profile VALUES (2, 2, '2026-01-05 13:05:00+00', 'ok', NULL, 2, 2.347152e-05, NULL, NULL, 131072, 'compute', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.profile_operator VALUES (1, 1, 0, 'aten::addmm', 4, 9.388608e-06, 9.388608e-06, true, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.profile_operator VALUES (1, 1, 1, 'aten::t', 1, 1e-07, 2e-07, false, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.profile_operator VALUES (1, 2, 0, 'aten::addmm', 2, 1.173576e-05, 1.173576e-05, true, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.profile_operator VALUES (1, 2, 1, 'aten::t', 1, 1e-07, 2e-07, false, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.profile_operator VALUES (2, 1, 0, 'aten::addmm', 4, 9.388608e-06, 9.388608e-06, true, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.profile_operator VALUES (2, 1, 1, 'aten::t', 1, 1e-07, 2e-07, false, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.profile_operator VALUES (2, 2, 0, 'aten::addmm', 2, 1.173576e-05, 1.173576e-05, true, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.profile_operator VALUES (2, 2, 1, 'aten::t', 1, 1e-07, 2e-07, false, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.project VALUES (1, 'frozen');
INSERT INTO public.project VALUES (2, 'fusebench');
INSERT INTO public.quarantine VALUES ('/frozen/broken.jsonl', 'journal', 'line 1: not JSON (unexpected end of data: line 1 column 2 (char 1))', '1:2162735:4:1795261795750091642:1795261795750091642', '2026-11-21 11:49:56.791514+00');
INSERT INTO public.run VALUES (1, 2, '6913750a', 1, 2, 1, 4, '2026-01-06 12:00:00+00', '2026-01-06 13:00:00+00', 12, '{"python": "3.11.9", "torch": "2.13.0", "cpu_mhz": 2600.0, "load_by_others": 0.1}', 0);
INSERT INTO public.run VALUES (2, 2, '8847285e', 2, 2, 1, 5, '2026-01-05 12:00:00+00', '2026-01-05 13:00:00+00', 12, '{"python": "3.11.9", "torch": "2.13.0", "cpu_mhz": 2600.0, "load_by_others": 0.1}', 0);
INSERT INTO public.run VALUES (3, 1, 'asv/laptop/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/virtualenv-py3.11', 3, 1, 2, 6, '2023-11-14 22:13:20+00', '2023-11-14 22:15:00+00', 5, '{}', 0);
INSERT INTO public.run VALUES (4, 1, 'asv/laptop/bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb/virtualenv-py3.11', 4, 1, 2, 7, '2023-11-14 22:13:21+00', '2023-11-14 22:15:00+00', 5, '{}', 0);
INSERT INTO public.series VALUES (1, 1, 1, 2, 1);
INSERT INTO public.series VALUES (2, 2, 1, 2, 1);
INSERT INTO public.series VALUES (3, 3, 1, 2, 1);
INSERT INTO public.series VALUES (4, 1, 2, 2, 1);
INSERT INTO public.series VALUES (5, 2, 2, 2, 1);
INSERT INTO public.series VALUES (6, 3, 2, 2, 1);
INSERT INTO public.series VALUES (7, 4, 1, 2, 1);
INSERT INTO public.series VALUES (8, 5, 1, 2, 1);
INSERT INTO public.series VALUES (9, 6, 1, 2, 1);
INSERT INTO public.series VALUES (10, 4, 2, 2, 1);
INSERT INTO public.series VALUES (11, 5, 2, 2, 1);
INSERT INTO public.series VALUES (12, 6, 2, 2, 1);
INSERT INTO public.series VALUES (13, 7, 3, 1, 2);
INSERT INTO public.series VALUES (14, 8, 4, 1, 2);
INSERT INTO public.series VALUES (15, 8, 5, 1, 2);
INSERT INTO public.series VALUES (16, 8, 6, 1, 2);
INSERT INTO public.series VALUES (17, 8, 7, 1, 2);
INSERT INTO public.series VALUES (18, 9, 3, 1, 2);
INSERT INTO public.source VALUES (1, '/frozen/tree/laptop/machine.json', 'asv_machine', NULL, '1:2162727:47:1795261795749175941:1795261795749175941', '4b17b9a95d3a4058edba8026b5db08cc', 47, '2026-11-21 11:49:56.742831+00');
INSERT INTO public.source VALUES (2, '/frozen/tree/benchmarks.json', 'asv_benchmarks', NULL, '1:2162730:198:1795261795749416619:1795261795749416619', '6157c3bd124135df4dbc89923cbbea07', 198, '2026-11-21 11:49:56.756544+00');
INSERT INTO public.source VALUES (3, '/frozen/machines/bench-01.json', 'ceilings', NULL, '1:2162737:176:1795261795750168406:1795261795750168406', 'b5aa16a76618eb4b7dd6283b102945d0', 176, '2026-11-21 11:49:56.779126+00');
INSERT INTO public.source VALUES (4, '/frozen/journal/bench-01/ee2d5e74-py3.11-cpu-t2.jsonl', 'journal', NULL, '1:2162734:4821:1795261795750039064:1795261795750039064', 'c962bf0709dffc5a66fb5a3d47144ec3', 4821, '2026-11-21 11:49:56.806105+00');
INSERT INTO public.source VALUES (5, '/frozen/journal/bench-01/efef3443-py3.11-cpu-t2.jsonl', 'journal', NULL, '1:2162733:4821:1795261795749817845:1795261795749817845', '6641fc9e86c305936680557574d33c6b', 4821, '2026-11-21 11:49:56.88754+00');
INSERT INTO public.source VALUES (6, '/frozen/tree/laptop/aaaaaaaa-virtualenv-py3.11.json', 'asv_result', NULL, '1:2162728:669:1795261795749074330:1795261795749074330', '3d13d47092719bd47b7264707abf3452', 669, '2026-11-21 11:49:56.922233+00');
INSERT INTO public.source VALUES (7, '/frozen/tree/laptop/bbbbbbbb-virtualenv-py3.11.json', 'asv_result', NULL, '1:2162729:668:1795261795749306084:1795261795749306084', '5e5cfae4d4fbb7e17f4a0bfbc66ba4e2', 668, '2026-11-21 11:49:56.959501+00');
INSERT INTO public.triage VALUES (1, 1, 2, 'accepted', 'by hand', 'somebody', '2026-02-01 00:00:00+00', NULL);
INSERT INTO public.value VALUES (1, 1, 'ok', 4.694304e-05, 4.67865632e-05, 4.70995168e-05, 4.67083248e-05, 4.71777552e-05, 4, 20, '\x9a8f1e11955d083fcc130d1498db083fbce7121397b1083fabbb18129687083f', NULL);
INSERT INTO public.value VALUES (1, 2, 'ok', 1, 0.995, 1.005, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.value VALUES (1, 3, 'ok', 1e-07, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.value VALUES (1, 4, 'ok', 2.9339399999999996e-05, 2.9241601999999997e-05, 2.9437197999999998e-05, 2.9192702999999997e-05, 2.9486096999999997e-05, 4, 20, '\x80336655fa74fe3ebe5810197e12ff3eaaa1d7d7fcddfe3e95ea9e967ba9fe3e', NULL);
INSERT INTO public.value VALUES (1, 5, 'ok', 1.6, 1.592, 1.6079999999999999, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.value VALUES (1, 6, 'ok', 1e-07, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.value VALUES (1, 7, 'ok', 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.value VALUES (1, 8, 'ok', 3.7554432e-05, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.value VALUES (1, 9, 'ok', 262144, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.value VALUES (1, 10, 'ok', 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.value VALUES (1, 11, 'ok', 2.347152e-05, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.value VALUES (1, 12, 'ok', 131072, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.value VALUES (2, 1, 'ok', 4.694304e-05, 4.67865632e-05, 4.70995168e-05, 4.67083248e-05, 4.71777552e-05, 4, 20, '\x9a8f1e11955d083fcc130d1498db083fbce7121397b1083fabbb18129687083f', NULL);
INSERT INTO public.value VALUES (2, 2, 'ok', 1, 0.995, 1.005, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.value VALUES (2, 3, 'ok', 1e-07, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.value VALUES (2, 4, 'ok', 2.9339399999999996e-05, 2.9241601999999997e-05, 2.9437197999999998e-05, 2.9192702999999997e-05, 2.9486096999999997e-05, 4, 20, '\x80336655fa74fe3ebe5810197e12ff3eaaa1d7d7fcddfe3e95ea9e967ba9fe3e', NULL);
INSERT INTO public.value VALUES (2, 5, 'ok', 1.6, 1.592, 1.6079999999999999, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.value VALUES (2, 6, 'ok', 1e-07, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.value VALUES (2, 7, 'ok', 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.value VALUES (2, 8, 'ok', 3.7554432e-05, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.value VALUES (2, 9, 'ok', 262144, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.value VALUES (2, 10, 'ok', 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.value VALUES (2, 11, 'ok', 2.347152e-05, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.value VALUES (2, 12, 'ok', 131072, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.value VALUES (3, 13, 'ok', 0.001, 0.00099, 0.00101, 0.000995, 0.0010049999999999998, 3, 1, '\x2ae3df675c38503ffca9f1d24d62503fce70033e3f8c503f', NULL);
INSERT INTO public.value VALUES (3, 14, 'ok', 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.value VALUES (3, 15, 'failed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.value VALUES (3, 16, 'skipped', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.value VALUES (3, 17, 'ok', 4.5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.value VALUES (4, 14, 'ok', 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.value VALUES (4, 15, 'failed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.value VALUES (4, 16, 'skipped', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.value VALUES (4, 17, 'ok', 4.5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.value VALUES (4, 18, 'ok', 0.002, 0.00198, 0.00202, 0.00199, 0.0020099999999999996, 3, 1, '\x2ae3df675c38603ffca9f1d24d62603fce70033e3f8c603f', NULL);
ALTER TABLE ONLY public.fusebench_version
    ADD CONSTRAINT fusebench_version_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.benchmark
    ADD CONSTRAINT pk_benchmark PRIMARY KEY (id);
ALTER TABLE ONLY public.ceiling
    ADD CONSTRAINT pk_ceiling PRIMARY KEY (machine_id, environment_id, quantity);
ALTER TABLE ONLY public.commits
    ADD CONSTRAINT pk_commits PRIMARY KEY (id);
ALTER TABLE ONLY public.decision
    ADD CONSTRAINT pk_decision PRIMARY KEY (id);
ALTER TABLE ONLY public.environment
    ADD CONSTRAINT pk_environment PRIMARY KEY (id);
ALTER TABLE ONLY public.execution
    ADD CONSTRAINT pk_execution PRIMARY KEY (run_id, benchmark_id);
ALTER TABLE ONLY public.judged_place
    ADD CONSTRAINT pk_judged_place PRIMARY KEY (project_id, machine_id, environment_id);
ALTER TABLE ONLY public.judged_series
    ADD CONSTRAINT pk_judged_series PRIMARY KEY (series_id, least_change);
ALTER TABLE ONLY public.machine
    ADD CONSTRAINT pk_machine PRIMARY KEY (id);
ALTER TABLE ONLY public.measurement
    ADD CONSTRAINT pk_measurement PRIMARY KEY (run_id, point_id);
ALTER TABLE ONLY public.parameter
    ADD CONSTRAINT pk_parameter PRIMARY KEY (point_id, "position");
ALTER TABLE ONLY public.point
    ADD CONSTRAINT pk_point PRIMARY KEY (id);
ALTER TABLE ONLY public.profile
    ADD CONSTRAINT pk_profile PRIMARY KEY (run_id, point_id);
ALTER TABLE ONLY public.profile_kernel
    ADD CONSTRAINT pk_profile_kernel PRIMARY KEY (run_id, point_id, "position");
ALTER TABLE ONLY public.profile_operator
    ADD CONSTRAINT pk_profile_operator PRIMARY KEY (run_id, point_id, "position");
ALTER TABLE ONLY public.project
    ADD CONSTRAINT pk_project PRIMARY KEY (id);
ALTER TABLE ONLY public.quarantine
    ADD CONSTRAINT pk_quarantine PRIMARY KEY (path);
ALTER TABLE ONLY public.run
    ADD CONSTRAINT pk_run PRIMARY KEY (id);
ALTER TABLE ONLY public.series
    ADD CONSTRAINT pk_series PRIMARY KEY (id);
ALTER TABLE ONLY public.source
    ADD CONSTRAINT pk_source PRIMARY KEY (id);
ALTER TABLE ONLY public.triage
    ADD CONSTRAINT pk_triage PRIMARY KEY (id);
ALTER TABLE ONLY public.value
    ADD CONSTRAINT pk_value PRIMARY KEY (run_id, series_id);
ALTER TABLE ONLY public.benchmark
    ADD CONSTRAINT uq_benchmark_project_id_name_metric_version UNIQUE (project_id, name, metric, version);
ALTER TABLE ONLY public.commits
    ADD CONSTRAINT uq_commits_project_id_hash UNIQUE (project_id, hash);
ALTER TABLE ONLY public.environment
    ADD CONSTRAINT uq_environment_name UNIQUE (name);
ALTER TABLE ONLY public.machine
    ADD CONSTRAINT uq_machine_name UNIQUE (name);
ALTER TABLE ONLY public.point
    ADD CONSTRAINT uq_point_project_id_subject_key UNIQUE (project_id, subject, key);
ALTER TABLE ONLY public.project
    ADD CONSTRAINT uq_project_name UNIQUE (name);
ALTER TABLE ONLY public.run
    ADD CONSTRAINT uq_run_project_id_uid UNIQUE (project_id, uid);
ALTER TABLE ONLY public.series
    ADD CONSTRAINT uq_series_benchmark_id_machine_id_environment_id_point_id UNIQUE (benchmark_id, machine_id, environment_id, point_id);
ALTER TABLE ONLY public.source
    ADD CONSTRAINT uq_source_path UNIQUE (path);
ALTER TABLE ONLY public.triage
    ADD CONSTRAINT uq_triage_series_id_commit_id UNIQUE (series_id, commit_id);
CREATE INDEX ix_benchmark_continues_id ON public.benchmark USING btree (continues_id);
CREATE INDEX ix_decision_source_id ON public.decision USING btree (source_id);
CREATE INDEX ix_measurement_point_id_run_id ON public.measurement USING btree (point_id, run_id);
CREATE INDEX ix_parameter_name_number ON public.parameter USING btree (name, number);
CREATE INDEX ix_profile_kernel_name ON public.profile_kernel USING btree (name);
CREATE INDEX ix_profile_operator_name ON public.profile_operator USING btree (name);
CREATE INDEX ix_profile_point_id_run_id ON public.profile USING btree (point_id, run_id);
CREATE INDEX ix_run_commit_id ON public.run USING btree (commit_id);
CREATE INDEX ix_run_machine_id_environment_id_ordered_at_position_started_at ON public.run USING btree (machine_id, environment_id, ordered_at, "position", started_at);
CREATE INDEX ix_run_source_id ON public.run USING btree (source_id);
CREATE INDEX ix_series_point_id_machine_id_environment_id ON public.series USING btree (point_id, machine_id, environment_id);
CREATE INDEX ix_value_series_id_run_id ON public.value USING btree (series_id, run_id) INCLUDE (state, median, ci_low, ci_high, q25, q75, sample_count);
CREATE INDEX ix_value_series_id_run_id_explained ON public.value USING btree (series_id, run_id) WHERE (reason IS NOT NULL);
ALTER TABLE ONLY public.benchmark
    ADD CONSTRAINT fk_benchmark_continues_id FOREIGN KEY (continues_id) REFERENCES public.benchmark(id);
ALTER TABLE ONLY public.benchmark
    ADD CONSTRAINT fk_benchmark_project_id FOREIGN KEY (project_id) REFERENCES public.project(id);
ALTER TABLE ONLY public.ceiling
    ADD CONSTRAINT fk_ceiling_environment_id FOREIGN KEY (environment_id) REFERENCES public.environment(id);
ALTER TABLE ONLY public.ceiling
    ADD CONSTRAINT fk_ceiling_machine_id FOREIGN KEY (machine_id) REFERENCES public.machine(id);
ALTER TABLE ONLY public.commits
    ADD CONSTRAINT fk_commits_project_id FOREIGN KEY (project_id) REFERENCES public.project(id);
ALTER TABLE ONLY public.decision
    ADD CONSTRAINT fk_decision_source_id FOREIGN KEY (source_id) REFERENCES public.source(id);
ALTER TABLE ONLY public.execution
    ADD CONSTRAINT fk_execution_benchmark_id FOREIGN KEY (benchmark_id) REFERENCES public.benchmark(id);
ALTER TABLE ONLY public.execution
    ADD CONSTRAINT fk_execution_run_id FOREIGN KEY (run_id) REFERENCES public.run(id);
ALTER TABLE ONLY public.judged_place
    ADD CONSTRAINT fk_judged_place_environment_id FOREIGN KEY (environment_id) REFERENCES public.environment(id);
ALTER TABLE ONLY public.judged_place
    ADD CONSTRAINT fk_judged_place_machine_id FOREIGN KEY (machine_id) REFERENCES public.machine(id);
ALTER TABLE ONLY public.judged_place
    ADD CONSTRAINT fk_judged_place_project_id FOREIGN KEY (project_id) REFERENCES public.project(id);
ALTER TABLE ONLY public.judged_series
    ADD CONSTRAINT fk_judged_series_series_id FOREIGN KEY (series_id) REFERENCES public.series(id);
ALTER TABLE ONLY public.measurement
    ADD CONSTRAINT fk_measurement_point_id FOREIGN KEY (point_id) REFERENCES public.point(id);
ALTER TABLE ONLY public.measurement
    ADD CONSTRAINT fk_measurement_run_id FOREIGN KEY (run_id) REFERENCES public.run(id);
ALTER TABLE ONLY public.parameter
    ADD CONSTRAINT fk_parameter_point_id FOREIGN KEY (point_id) REFERENCES public.point(id);
ALTER TABLE ONLY public.point
    ADD CONSTRAINT fk_point_project_id FOREIGN KEY (project_id) REFERENCES public.project(id);
ALTER TABLE ONLY public.profile_kernel
    ADD CONSTRAINT fk_profile_kernel_run_id_point_id FOREIGN KEY (run_id, point_id) REFERENCES public.profile(run_id, point_id);
ALTER TABLE ONLY public.profile_operator
    ADD CONSTRAINT fk_profile_operator_run_id_point_id FOREIGN KEY (run_id, point_id) REFERENCES public.profile(run_id, point_id);
ALTER TABLE ONLY public.profile
    ADD CONSTRAINT fk_profile_point_id FOREIGN KEY (point_id) REFERENCES public.point(id);
ALTER TABLE ONLY public.profile
    ADD CONSTRAINT fk_profile_run_id FOREIGN KEY (run_id) REFERENCES public.run(id);
ALTER TABLE ONLY public.run
    ADD CONSTRAINT fk_run_commit_id FOREIGN KEY (commit_id) REFERENCES public.commits(id);
ALTER TABLE ONLY public.run
    ADD CONSTRAINT fk_run_environment_id FOREIGN KEY (environment_id) REFERENCES public.environment(id);
ALTER TABLE ONLY public.run
    ADD CONSTRAINT fk_run_machine_id FOREIGN KEY (machine_id) REFERENCES public.machine(id);
ALTER TABLE ONLY public.run
    ADD CONSTRAINT fk_run_project_id FOREIGN KEY (project_id) REFERENCES public.project(id);
ALTER TABLE ONLY public.run
    ADD CONSTRAINT fk_run_source_id FOREIGN KEY (source_id) REFERENCES public.source(id);
ALTER TABLE ONLY public.series
    ADD CONSTRAINT fk_series_benchmark_id FOREIGN KEY (benchmark_id) REFERENCES public.benchmark(id);
ALTER TABLE ONLY public.series
    ADD CONSTRAINT fk_series_environment_id FOREIGN KEY (environment_id) REFERENCES public.environment(id);
ALTER TABLE ONLY public.series
    ADD CONSTRAINT fk_series_machine_id FOREIGN KEY (machine_id) REFERENCES public.machine(id);
ALTER TABLE ONLY public.series
    ADD CONSTRAINT fk_series_point_id FOREIGN KEY (point_id) REFERENCES public.point(id);
ALTER TABLE ONLY public.source
    ADD CONSTRAINT fk_source_project_id FOREIGN KEY (project_id) REFERENCES public.project(id);
ALTER TABLE ONLY public.triage
    ADD CONSTRAINT fk_triage_commit_id FOREIGN KEY (commit_id) REFERENCES public.commits(id);
ALTER TABLE ONLY public.triage
    ADD CONSTRAINT fk_triage_decision_id FOREIGN KEY (decision_id) REFERENCES public.decision(id);
ALTER TABLE ONLY public.triage
    ADD CONSTRAINT fk_triage_series_id FOREIGN KEY (series_id) REFERENCES public.series(id);
ALTER TABLE ONLY public.value
    ADD CONSTRAINT fk_value_run_id FOREIGN KEY (run_id) REFERENCES public.run(id);
ALTER TABLE ONLY public.value
    ADD CONSTRAINT fk_value_series_id FOREIGN KEY (series_id) REFERENCES public.series(id);
