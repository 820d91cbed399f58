BEGIN TRANSACTION;
CREATE TABLE benchmark (
	id INTEGER NOT NULL, 
	project_id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	metric TEXT NOT NULL, 
	version TEXT NOT NULL, 
	unit TEXT NOT NULL, 
	interval_level DOUBLE NOT NULL, 
	parameter_names JSON NOT NULL, 
	continues_id INTEGER, 
	CONSTRAINT pk_benchmark PRIMARY KEY (id), 
	CONSTRAINT fk_benchmark_continues_id FOREIGN KEY(continues_id) REFERENCES benchmark (id), 
	CONSTRAINT fk_benchmark_project_id FOREIGN KEY(project_id) REFERENCES project (id), 
	CONSTRAINT uq_benchmark_project_id_name_metric_version UNIQUE (project_id, name, metric, version)
);
INSERT INTO "benchmark" VALUES(1,2,'mlp','latency_s','1','s',0.95,'[]',NULL);
INSERT INTO "benchmark" VALUES(2,2,'mlp','speedup_vs_eager','1','',0.95,'[]',NULL);
INSERT INTO "benchmark" VALUES(3,2,'mlp','error_rel','1','',0.95,'[]',NULL);
INSERT INTO "benchmark" VALUES(4,2,'mlp','operator_count','1','',0.95,'[]',NULL);
INSERT INTO "benchmark" VALUES(5,2,'mlp','operator_time_s','1','s',0.95,'[]',NULL);
INSERT INTO "benchmark" VALUES(6,2,'mlp','peak_memory_bytes','1','bytes',0.95,'[]',NULL);
INSERT INTO "benchmark" VALUES(7,1,'s.time_it','time','v1','seconds',0.99,'[]',NULL);
INSERT INTO "benchmark" VALUES(8,1,'s.track_grid','track','g1','rows',0.99,'["n", "mode"]',NULL);
INSERT INTO "benchmark" VALUES(9,1,'s.time_it','time','v2','seconds',0.99,'[]',NULL);
CREATE TABLE ceiling (
	machine_id INTEGER NOT NULL, 
	environment_id INTEGER NOT NULL, 
	quantity TEXT NOT NULL, 
	value DOUBLE NOT NULL, 
	measured_at DATETIME, 
	CONSTRAINT pk_ceiling PRIMARY KEY (machine_id, environment_id, quantity), 
	CONSTRAINT fk_ceiling_environment_id FOREIGN KEY(environment_id) REFERENCES environment (id), 
	CONSTRAINT fk_ceiling_machine_id FOREIGN KEY(machine_id) REFERENCES machine (id)
)
 WITHOUT ROWID

;
INSERT INTO "ceiling" VALUES(2,1,'matmul_flop_per_s.float32',50000000000.0,'2026-01-01 00:00:00.000000');
CREATE TABLE commits (
	id INTEGER NOT NULL, 
	project_id INTEGER NOT NULL, 
	hash TEXT NOT NULL, 
	date DATETIME, 
	subject TEXT, 
	position INTEGER, 
	is_orphaned BOOLEAN, ordered_at DATETIME, 
	CONSTRAINT pk_commits PRIMARY KEY (id), 
	CONSTRAINT fk_commits_project_id FOREIGN KEY(project_id) REFERENCES project (id), 
	CONSTRAINT uq_commits_project_id_hash UNIQUE (project_id, hash)
);
INSERT INTO "commits" VALUES(1,2,'ee2d5e74992a6ee200233f5877240fcee9409a6d','2026-01-06 12:00:00.000000','Change number 1',NULL,NULL,'2026-01-06 12:00:00.000000');
INSERT INTO "commits" VALUES(2,2,'efef344398e804d501e1556f76e665f9e882f05a','2026-01-05 12:00:00.000000','Change number 0',NULL,NULL,'2026-01-05 12:00:00.000000');
INSERT INTO "commits" VALUES(3,1,'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','2023-11-14 22:13:20.000000',NULL,NULL,NULL,'2023-11-14 22:13:20.000000');
INSERT INTO "commits" VALUES(4,1,'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb','2023-11-14 22:13:21.000000',NULL,NULL,NULL,'2023-11-14 22:13:21.000000');
CREATE TABLE decision (
	id INTEGER NOT NULL, 
	source_id INTEGER, 
	kind TEXT NOT NULL, 
	content JSON NOT NULL, 
	CONSTRAINT pk_decision PRIMARY KEY (id), 
	CONSTRAINT fk_decision_source_id FOREIGN KEY(source_id) REFERENCES source (id)
);
CREATE TABLE environment (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	details JSON NOT NULL, 
	CONSTRAINT pk_environment PRIMARY KEY (id), 
	CONSTRAINT uq_environment_name UNIQUE (name)
);
INSERT INTO "environment" VALUES(1,'py3.11-cpu-t2','{}');
INSERT INTO "environment" VALUES(2,'virtualenv-py3.11','{"python": "3.11"}');
CREATE TABLE execution (
	run_id INTEGER NOT NULL, 
	benchmark_id INTEGER NOT NULL, 
	started_at DATETIME, 
	duration_s DOUBLE, 
	CONSTRAINT pk_execution PRIMARY KEY (run_id, benchmark_id), 
	CONSTRAINT fk_execution_benchmark_id FOREIGN KEY(benchmark_id) REFERENCES benchmark (id), 
	CONSTRAINT fk_execution_run_id FOREIGN KEY(run_id) REFERENCES run (id)
)
 WITHOUT ROWID

;
INSERT INTO "execution" VALUES(3,7,'2023-11-14 22:15:00.000000',1.5);
INSERT INTO "execution" VALUES(3,8,NULL,NULL);
INSERT INTO "execution" VALUES(4,8,NULL,NULL);
INSERT INTO "execution" VALUES(4,9,'2023-11-14 22:15:00.000000',1.5);
CREATE TABLE fusebench_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT fusebench_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "fusebench_version" VALUES('0008');
CREATE TABLE judged_place (
	project_id INTEGER NOT NULL, 
	machine_id INTEGER NOT NULL, 
	environment_id INTEGER NOT NULL, 
	n_runs INTEGER NOT NULL, 
	n_values BIGINT NOT NULL, 
	positions BIGINT NOT NULL, 
	read_at DATETIME, 
	detector BLOB NOT NULL, 
	CONSTRAINT pk_judged_place PRIMARY KEY (project_id, machine_id, environment_id), 
	CONSTRAINT fk_judged_place_project_id FOREIGN KEY(project_id) REFERENCES project (id), 
	CONSTRAINT fk_judged_place_machine_id FOREIGN KEY(machine_id) REFERENCES machine (id), 
	CONSTRAINT fk_judged_place_environment_id FOREIGN KEY(environment_id) REFERENCES environment (id)
)
 WITHOUT ROWID

;
INSERT INTO "judged_place" VALUES(1,1,2,2,10,0,NULL,X'0101010101010101010101010101010101');
CREATE TABLE judged_series (
	series_id INTEGER NOT NULL, 
	least_change DOUBLE NOT NULL, 
	digest BLOB NOT NULL, 
	found TEXT, 
	CONSTRAINT pk_judged_series PRIMARY KEY (series_id, least_change), 
	CONSTRAINT fk_judged_series_series_id FOREIGN KEY(series_id) REFERENCES series (id)
)
 WITHOUT ROWID

;
INSERT INTO "judged_series" VALUES(1,0.03,X'0101010101010101010101010101010101',NULL);
CREATE TABLE machine (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	details JSON NOT NULL, 
	CONSTRAINT pk_machine PRIMARY KEY (id), 
	CONSTRAINT uq_machine_name UNIQUE (name)
);
INSERT INTO "machine" VALUES(1,'laptop','{"cpu": "x"}');
INSERT INTO "machine" VALUES(2,'bench-01','{}');
CREATE TABLE measurement (
	run_id INTEGER NOT NULL, 
	point_id INTEGER NOT NULL, 
	ruler_version TEXT NOT NULL, 
	measured_at DATETIME NOT NULL, 
	together TEXT, 
	state TEXT NOT NULL, 
	reason TEXT, 
	disturbed TEXT, 
	provider_detail TEXT, 
	stop TEXT, 
	flop DOUBLE, 
	min_bytes DOUBLE, 
	floor_s DOUBLE, 
	conditions JSON NOT NULL, latency_between_sd_s DOUBLE, speedup_between_sd DOUBLE, visits JSON, 
	CONSTRAINT pk_measurement PRIMARY KEY (run_id, point_id), 
	CONSTRAINT fk_measurement_point_id FOREIGN KEY(point_id) REFERENCES point (id), 
	CONSTRAINT fk_measurement_run_id FOREIGN KEY(run_id) REFERENCES run (id)
)
 WITHOUT ROWID

;
INSERT INTO "measurement" VALUES(1,1,'1','2026-01-06 13:05:00.000000','754d57d3','ok',NULL,NULL,NULL,'precision',4194304.0,98304.0,1.8777216e-05,'{"python": "3.11.9", "torch": "2.13.0", "cpu_mhz": 2600.0, "load_by_others": 0.1}',NULL,NULL,NULL);
INSERT INTO "measurement" VALUES(1,2,'1','2026-01-06 13:05:00.000000','754d57d3','ok',NULL,NULL,NULL,'precision',4194304.0,98304.0,1.173576e-05,'{"python": "3.11.9", "torch": "2.13.0", "cpu_mhz": 2600.0, "load_by_others": 0.1}',NULL,NULL,NULL);
INSERT INTO "measurement" VALUES(2,1,'1','2026-01-05 13:05:00.000000','754d57d3','ok',NULL,NULL,NULL,'precision',4194304.0,98304.0,1.8777216e-05,'{"python": "3.11.9", "torch": "2.13.0", "cpu_mhz": 2600.0, "load_by_others": 0.1}',NULL,NULL,NULL);
INSERT INTO "measurement" VALUES(2,2,'1','2026-01-05 13:05:00.000000','754d57d3','ok',NULL,NULL,NULL,'precision',4194304.0,98304.0,1.173576e-05,'{"python": "3.11.9", "torch": "2.13.0", "cpu_mhz": 2600.0, "load_by_others": 0.1}',NULL,NULL,NULL);
CREATE TABLE parameter (
	point_id INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	type TEXT NOT NULL, 
	text TEXT NOT NULL, 
	number DOUBLE, 
	CONSTRAINT pk_parameter PRIMARY KEY (point_id, position), 
	CONSTRAINT fk_parameter_point_id FOREIGN KEY(point_id) REFERENCES point (id)
)
 WITHOUT ROWID

;
INSERT INTO "parameter" VALUES(1,0,'provider','str','eager',NULL);
INSERT INTO "parameter" VALUES(1,1,'pass','str','forward',NULL);
INSERT INTO "parameter" VALUES(1,2,'dtype','str','float32',NULL);
INSERT INTO "parameter" VALUES(1,3,'activation','str','gelu',NULL);
INSERT INTO "parameter" VALUES(1,4,'batch','int','64',64.0);
INSERT INTO "parameter" VALUES(1,5,'hidden','int','256',256.0);
INSERT INTO "parameter" VALUES(1,6,'dim','int','64',64.0);
INSERT INTO "parameter" VALUES(1,7,'cache','str','warm',NULL);
INSERT INTO "parameter" VALUES(1,8,'weights','str','plain',NULL);
INSERT INTO "parameter" VALUES(1,9,'threads','int','2',2.0);
INSERT INTO "parameter" VALUES(2,0,'provider','str','fused',NULL);
INSERT INTO "parameter" VALUES(2,1,'pass','str','forward',NULL);
INSERT INTO "parameter" VALUES(2,2,'dtype','str','float32',NULL);
INSERT INTO "parameter" VALUES(2,3,'activation','str','gelu',NULL);
INSERT INTO "parameter" VALUES(2,4,'batch','int','64',64.0);
INSERT INTO "parameter" VALUES(2,5,'hidden','int','256',256.0);
INSERT INTO "parameter" VALUES(2,6,'dim','int','64',64.0);
INSERT INTO "parameter" VALUES(2,7,'cache','str','warm',NULL);
INSERT INTO "parameter" VALUES(2,8,'weights','str','plain',NULL);
INSERT INTO "parameter" VALUES(2,9,'threads','int','2',2.0);
INSERT INTO "parameter" VALUES(4,0,'n','int','1',1.0);
INSERT INTO "parameter" VALUES(4,1,'mode','str','a',NULL);
INSERT INTO "parameter" VALUES(5,0,'n','int','1',1.0);
INSERT INTO "parameter" VALUES(5,1,'mode','none','None',NULL);
INSERT INTO "parameter" VALUES(6,0,'n','int','2',2.0);
INSERT INTO "parameter" VALUES(6,1,'mode','str','a',NULL);
INSERT INTO "parameter" VALUES(7,0,'n','int','2',2.0);
INSERT INTO "parameter" VALUES(7,1,'mode','none','None',NULL);
CREATE TABLE point (
	id INTEGER NOT NULL, 
	project_id INTEGER NOT NULL, 
	subject TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	CONSTRAINT pk_point PRIMARY KEY (id), 
	CONSTRAINT fk_point_project_id FOREIGN KEY(project_id) REFERENCES project (id), 
	CONSTRAINT uq_point_project_id_subject_key UNIQUE (project_id, subject, "key")
);
INSERT INTO "point" VALUES(1,2,'mlp','459bf7e944405272b7bc431ae8e9234b');
INSERT INTO "point" VALUES(2,2,'mlp','81acc59bca4c6b5e6798cb2e6de1239b');
INSERT INTO "point" VALUES(3,1,'s.time_it','7ebb3c7c2a87b1a2f8a7ed729ecb040d');
INSERT INTO "point" VALUES(4,1,'s.track_grid','96a35a8ab695709fd2e7bfd1db1d0253');
INSERT INTO "point" VALUES(5,1,'s.track_grid','d6c63aad2b6f9bfca3859b71dac83dbe');
INSERT INTO "point" VALUES(6,1,'s.track_grid','1ed9dbfcce37a6088c5c9b38213dfe5c');
INSERT INTO "point" VALUES(7,1,'s.track_grid','bdf7a66f6a28a9abda1737d22ddcc702');
CREATE TABLE profile (
	run_id INTEGER NOT NULL, 
	point_id INTEGER NOT NULL, 
	measured_at DATETIME NOT NULL, 
	state TEXT NOT NULL, 
	reason TEXT, 
	operator_count DOUBLE, 
	operator_time_s DOUBLE, 
	kernel_launches DOUBLE, 
	device_time_s DOUBLE, 
	peak_memory_bytes DOUBLE, 
	bound TEXT, 
	stacks BLOB, 
	trace TEXT, expected_operator_count DOUBLE, expected_kernel_launches DOUBLE, unexpected TEXT, overhead_s DOUBLE, overhead_in TEXT, bound_detail TEXT, allocated_bytes DOUBLE, freed_bytes DOUBLE, operators_min_bytes DOUBLE, device_busy_s DOUBLE, gap_count DOUBLE, gap_time_s DOUBLE, longest_gap_s DOUBLE, gaps JSON, runtime_calls JSON, missing JSON, expected_bytes DOUBLE, expected_time_s DOUBLE, compilations DOUBLE, 
	CONSTRAINT pk_profile PRIMARY KEY (run_id, point_id), 
	CONSTRAINT fk_profile_point_id FOREIGN KEY(point_id) REFERENCES point (id), 
	CONSTRAINT fk_profile_run_id FOREIGN KEY(run_id) REFERENCES run (id)
)
 WITHOUT ROWID

;
INSERT INTO "profile" VALUES(1,1,'2026-01-06 13:05:00.000000','ok',NULL,4.0,3.7554432e-05,NULL,NULL,262144.0,'compute',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "profile" VALUES(1,2,'2026-01-06 13:05:00.000000','ok',NULL,2.0,2.347152e-05,NULL,NULL,131072.0,'compute',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "profile" VALUES(2,1,'2026-01-05 13:05:00.000000','ok',NULL,4.0,3.7554432e-05,NULL,NULL,262144.0,'compute',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "profile" VALUES(2,2,'2026-01-05 13:05:00.000000','ok',NULL,2.0,2.347152e-05,NULL,NULL,131072.0,'compute',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE profile_kernel (
	run_id INTEGER NOT NULL, 
	point_id INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	count DOUBLE NOT NULL, 
	device_time_s DOUBLE, 
	CONSTRAINT pk_profile_kernel PRIMARY KEY (run_id, point_id, position), 
	CONSTRAINT fk_profile_kernel_run_id_point_id FOREIGN KEY(run_id, point_id) REFERENCES profile (run_id, point_id)
)
 WITHOUT ROWID

;
CREATE TABLE profile_operator (
	run_id INTEGER NOT NULL, 
	point_id INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	count DOUBLE NOT NULL, 
	self_time_s DOUBLE, 
	total_time_s DOUBLE, 
	is_compute BOOLEAN NOT NULL, inputs TEXT, allocated_bytes DOUBLE, freed_bytes DOUBLE, min_bytes DOUBLE, min_bytes_reason TEXT, outermost DOUBLE, 
	CONSTRAINT pk_profile_operator PRIMARY KEY (run_id, point_id, position), 
	CONSTRAINT fk_profile_operator_run_id_point_id FOREIGN KEY(run_id, point_id) REFERENCES profile (run_id, point_id)
)
 WITHOUT ROWID

;
INSERT INTO "profile_operator" VALUES(1,1,0,'aten::addmm',4.0,9.388608e-06,9.388608e-06,1,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "profile_operator" VALUES(1,1,1,'aten::t',1.0,1.0e-07,2.0e-07,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "profile_operator" VALUES(1,2,0,'aten::addmm',2.0,1.173576e-05,1.173576e-05,1,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "profile_operator" VALUES(1,2,1,'aten::t',1.0,1.0e-07,2.0e-07,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "profile_operator" VALUES(2,1,0,'aten::addmm',4.0,9.388608e-06,9.388608e-06,1,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "profile_operator" VALUES(2,1,1,'aten::t',1.0,1.0e-07,2.0e-07,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "profile_operator" VALUES(2,2,0,'aten::addmm',2.0,1.173576e-05,1.173576e-05,1,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "profile_operator" VALUES(2,2,1,'aten::t',1.0,1.0e-07,2.0e-07,0,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE project (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	CONSTRAINT pk_project PRIMARY KEY (id), 
	CONSTRAINT uq_project_name UNIQUE (name)
);
INSERT INTO "project" VALUES(1,'frozen');
INSERT INTO "project" VALUES(2,'fusebench');
CREATE TABLE quarantine (
	path TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	signature TEXT NOT NULL, 
	found_at DATETIME NOT NULL, 
	CONSTRAINT pk_quarantine PRIMARY KEY (path)
);
INSERT INTO "quarantine" VALUES('/frozen/broken.jsonl','journal','line 1: not JSON (unexpected end of data: line 1 column 2 (char 1))','1:2162735:4:1795261795750091642:1795261795750091642','2026-11-21 11:49:56.054286');
CREATE TABLE run (
	id INTEGER NOT NULL, 
	project_id INTEGER NOT NULL, 
	uid TEXT NOT NULL, 
	commit_id INTEGER NOT NULL, 
	machine_id INTEGER NOT NULL, 
	environment_id INTEGER NOT NULL, 
	source_id INTEGER, 
	ordered_at DATETIME NOT NULL, 
	started_at DATETIME, 
	n_values INTEGER NOT NULL, 
	conditions JSON NOT NULL, position INTEGER DEFAULT '0' NOT NULL, 
	CONSTRAINT pk_run PRIMARY KEY (id), 
	CONSTRAINT fk_run_commit_id FOREIGN KEY(commit_id) REFERENCES commits (id), 
	CONSTRAINT fk_run_environment_id FOREIGN KEY(environment_id) REFERENCES environment (id), 
	CONSTRAINT fk_run_machine_id FOREIGN KEY(machine_id) REFERENCES machine (id), 
	CONSTRAINT fk_run_project_id FOREIGN KEY(project_id) REFERENCES project (id), 
	CONSTRAINT fk_run_source_id FOREIGN KEY(source_id) REFERENCES source (id), 
	CONSTRAINT uq_run_project_id_uid UNIQUE (project_id, uid)
);
INSERT INTO "run" VALUES(1,2,'6913750a',1,2,1,4,'2026-01-06 12:00:00.000000','2026-01-06 13:00:00.000000',12,'{"python": "3.11.9", "torch": "2.13.0", "cpu_mhz": 2600.0, "load_by_others": 0.1}',0);
INSERT INTO "run" VALUES(2,2,'8847285e',2,2,1,5,'2026-01-05 12:00:00.000000','2026-01-05 13:00:00.000000',12,'{"python": "3.11.9", "torch": "2.13.0", "cpu_mhz": 2600.0, "load_by_others": 0.1}',0);
INSERT INTO "run" VALUES(3,1,'asv/laptop/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/virtualenv-py3.11',3,1,2,6,'2023-11-14 22:13:20.000000','2023-11-14 22:15:00.000000',5,'{}',0);
INSERT INTO "run" VALUES(4,1,'asv/laptop/bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb/virtualenv-py3.11',4,1,2,7,'2023-11-14 22:13:21.000000','2023-11-14 22:15:00.000000',5,'{}',0);
CREATE TABLE series (
	id INTEGER NOT NULL, 
	benchmark_id INTEGER NOT NULL, 
	point_id INTEGER NOT NULL, 
	machine_id INTEGER NOT NULL, 
	environment_id INTEGER NOT NULL, 
	CONSTRAINT pk_series PRIMARY KEY (id), 
	CONSTRAINT fk_series_benchmark_id FOREIGN KEY(benchmark_id) REFERENCES benchmark (id), 
	CONSTRAINT fk_series_environment_id FOREIGN KEY(environment_id) REFERENCES environment (id), 
	CONSTRAINT fk_series_machine_id FOREIGN KEY(machine_id) REFERENCES machine (id), 
	CONSTRAINT fk_series_point_id FOREIGN KEY(point_id) REFERENCES point (id), 
	CONSTRAINT uq_series_benchmark_id_machine_id_environment_id_point_id UNIQUE (benchmark_id, machine_id, environment_id, point_id)
);
INSERT INTO "series" VALUES(1,1,1,2,1);
INSERT INTO "series" VALUES(2,2,1,2,1);
INSERT INTO "series" VALUES(3,3,1,2,1);
INSERT INTO "series" VALUES(4,1,2,2,1);
INSERT INTO "series" VALUES(5,2,2,2,1);
INSERT INTO "series" VALUES(6,3,2,2,1);
INSERT INTO "series" VALUES(7,4,1,2,1);
INSERT INTO "series" VALUES(8,5,1,2,1);
INSERT INTO "series" VALUES(9,6,1,2,1);
INSERT INTO "series" VALUES(10,4,2,2,1);
INSERT INTO "series" VALUES(11,5,2,2,1);
INSERT INTO "series" VALUES(12,6,2,2,1);
INSERT INTO "series" VALUES(13,7,3,1,2);
INSERT INTO "series" VALUES(14,8,4,1,2);
INSERT INTO "series" VALUES(15,8,5,1,2);
INSERT INTO "series" VALUES(16,8,6,1,2);
INSERT INTO "series" VALUES(17,8,7,1,2);
INSERT INTO "series" VALUES(18,9,3,1,2);
CREATE TABLE source (
	id INTEGER NOT NULL, 
	path TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	project_id INTEGER, 
	signature TEXT NOT NULL, 
	content_hash TEXT NOT NULL, 
	n_bytes_read BIGINT NOT NULL, 
	read_at DATETIME NOT NULL, 
	CONSTRAINT pk_source PRIMARY KEY (id), 
	CONSTRAINT fk_source_project_id FOREIGN KEY(project_id) REFERENCES project (id), 
	CONSTRAINT uq_source_path UNIQUE (path)
);
INSERT INTO "source" VALUES(1,'/frozen/tree/laptop/machine.json','asv_machine',NULL,'1:2162727:47:1795261795749175941:1795261795749175941','4b17b9a95d3a4058edba8026b5db08cc',47,'2026-11-21 11:49:56.021503');
INSERT INTO "source" VALUES(2,'/frozen/tree/benchmarks.json','asv_benchmarks',NULL,'1:2162730:198:1795261795749416619:1795261795749416619','6157c3bd124135df4dbc89923cbbea07',198,'2026-11-21 11:49:56.030256');
INSERT INTO "source" VALUES(3,'/frozen/machines/bench-01.json','ceilings',NULL,'1:2162737:176:1795261795750168406:1795261795750168406','b5aa16a76618eb4b7dd6283b102945d0',176,'2026-11-21 11:49:56.042816');
INSERT INTO "source" VALUES(4,'/frozen/journal/bench-01/ee2d5e74-py3.11-cpu-t2.jsonl','journal',NULL,'1:2162734:4821:1795261795750039064:1795261795750039064','c962bf0709dffc5a66fb5a3d47144ec3',4821,'2026-11-21 11:49:56.056164');
INSERT INTO "source" VALUES(5,'/frozen/journal/bench-01/efef3443-py3.11-cpu-t2.jsonl','journal',NULL,'1:2162733:4821:1795261795749817845:1795261795749817845','6641fc9e86c305936680557574d33c6b',4821,'2026-11-21 11:49:56.121194');
INSERT INTO "source" VALUES(6,'/frozen/tree/laptop/aaaaaaaa-virtualenv-py3.11.json','asv_result',NULL,'1:2162728:669:1795261795749074330:1795261795749074330','3d13d47092719bd47b7264707abf3452',669,'2026-11-21 11:49:56.128867');
INSERT INTO "source" VALUES(7,'/frozen/tree/laptop/bbbbbbbb-virtualenv-py3.11.json','asv_result',NULL,'1:2162729:668:1795261795749306084:1795261795749306084','5e5cfae4d4fbb7e17f4a0bfbc66ba4e2',668,'2026-11-21 11:49:56.143456');
CREATE TABLE "triage" (
	id INTEGER NOT NULL, 
	series_id INTEGER NOT NULL, 
	commit_id INTEGER NOT NULL, 
	decision TEXT NOT NULL, 
	note TEXT, 
	decided_by TEXT, 
	decided_at DATETIME, 
	decision_id INTEGER, 
	CONSTRAINT pk_triage PRIMARY KEY (id), 
	CONSTRAINT fk_triage_series_id FOREIGN KEY(series_id) REFERENCES series (id), 
	CONSTRAINT fk_triage_commit_id FOREIGN KEY(commit_id) REFERENCES commits (id), 
	CONSTRAINT uq_triage_series_id_commit_id UNIQUE (series_id, commit_id), 
	CONSTRAINT fk_triage_decision_id FOREIGN KEY(decision_id) REFERENCES decision (id)
);
INSERT INTO "triage" VALUES(1,1,2,'accepted','by hand','somebody','2026-02-01 00:00:00.000000',NULL);
CREATE TABLE value (
	run_id INTEGER NOT NULL, 
	series_id INTEGER NOT NULL, 
	state TEXT NOT NULL, 
	median DOUBLE, 
	ci_low DOUBLE, 
	ci_high DOUBLE, 
	q25 DOUBLE, 
	q75 DOUBLE, 
	sample_count INTEGER, 
	calls_per_sample BIGINT, 
	samples BLOB, 
	reason TEXT, 
	CONSTRAINT pk_value PRIMARY KEY (run_id, series_id), 
	CONSTRAINT fk_value_run_id FOREIGN KEY(run_id) REFERENCES run (id), 
	CONSTRAINT fk_value_series_id FOREIGN KEY(series_id) REFERENCES series (id)
)
 WITHOUT ROWID

;
INSERT INTO "value" VALUES(1,1,'ok',4.694304e-05,4.67865632e-05,4.70995168e-05,4.67083248e-05,4.71777552e-05,4,20,X'9A8F1E11955D083FCC130D1498DB083FBCE7121397B1083FABBB18129687083F',NULL);
INSERT INTO "value" VALUES(1,2,'ok',1.0,0.995,1.005,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "value" VALUES(1,3,'ok',1.0e-07,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "value" VALUES(1,4,'ok',2.93393999999999956001e-05,2.92416019999999967759e-05,2.94371979999999978088e-05,2.91927029999999973659e-05,2.94860969999999972214e-05,4,20,X'80336655FA74FE3EBE5810197E12FF3EAAA1D7D7FCDDFE3E95EA9E967BA9FE3E',NULL);
INSERT INTO "value" VALUES(1,5,'ok',1.6,1.592,1.60799999999999987387e+00,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "value" VALUES(1,6,'ok',1.0e-07,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "value" VALUES(1,7,'ok',4.0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "value" VALUES(1,8,'ok',3.7554432e-05,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "value" VALUES(1,9,'ok',262144.0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "value" VALUES(1,10,'ok',2.0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "value" VALUES(1,11,'ok',2.347152e-05,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "value" VALUES(1,12,'ok',131072.0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "value" VALUES(2,1,'ok',4.694304e-05,4.67865632e-05,4.70995168e-05,4.67083248e-05,4.71777552e-05,4,20,X'9A8F1E11955D083FCC130D1498DB083FBCE7121397B1083FABBB18129687083F',NULL);
INSERT INTO "value" VALUES(2,2,'ok',1.0,0.995,1.005,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "value" VALUES(2,3,'ok',1.0e-07,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "value" VALUES(2,4,'ok',2.93393999999999956001e-05,2.92416019999999967759e-05,2.94371979999999978088e-05,2.91927029999999973659e-05,2.94860969999999972214e-05,4,20,X'80336655FA74FE3EBE5810197E12FF3EAAA1D7D7FCDDFE3E95EA9E967BA9FE3E',NULL);
INSERT INTO "value" VALUES(2,5,'ok',1.6,1.592,1.60799999999999987387e+00,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "value" VALUES(2,6,'ok',1.0e-07,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "value" VALUES(2,7,'ok',4.0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "value" VALUES(2,8,'ok',3.7554432e-05,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "value" VALUES(2,9,'ok',262144.0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "value" VALUES(2,10,'ok',2.0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "value" VALUES(2,11,'ok',2.347152e-05,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "value" VALUES(2,12,'ok',131072.0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "value" VALUES(3,13,'ok',0.001,0.00099,0.00101,0.000995,1.00499999999999981709e-03,3,1,X'2AE3DF675C38503FFCA9F1D24D62503FCE70033E3F8C503F',NULL);
INSERT INTO "value" VALUES(3,14,'ok',1.0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "value" VALUES(3,15,'failed',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "value" VALUES(3,16,'skipped',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "value" VALUES(3,17,'ok',4.5,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "value" VALUES(4,14,'ok',1.0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "value" VALUES(4,15,'failed',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "value" VALUES(4,16,'skipped',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "value" VALUES(4,17,'ok',4.5,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "value" VALUES(4,18,'ok',0.002,0.00198,0.00202,0.00199,2.00999999999999963418e-03,3,1,X'2AE3DF675C38603FFCA9F1D24D62603FCE70033E3F8C603F',NULL);
CREATE INDEX ix_parameter_name_number ON parameter (name, number);
CREATE INDEX ix_run_commit_id ON run (commit_id);
CREATE INDEX ix_run_source_id ON run (source_id);
CREATE INDEX ix_series_point_id_machine_id_environment_id ON series (point_id, machine_id, environment_id);
CREATE INDEX ix_measurement_point_id_run_id ON measurement (point_id, run_id);
CREATE INDEX ix_profile_point_id_run_id ON profile (point_id, run_id);
CREATE INDEX ix_profile_kernel_name ON profile_kernel (name);
CREATE INDEX ix_profile_operator_name ON profile_operator (name);
CREATE INDEX ix_run_machine_id_environment_id_ordered_at_position_started_at ON run (machine_id, environment_id, ordered_at, position, started_at);
CREATE INDEX ix_benchmark_continues_id ON benchmark (continues_id);
CREATE INDEX ix_decision_source_id ON decision (source_id);
COMMIT;
