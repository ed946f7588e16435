# Reads `go test -v`: prints a line for each package, the whole output of one that failed, each skipped test with its
# reason, and the counts. Its status is 1 when a test was skipped or none ran; a failed one is go test's own status.
BEGIN { passed = failed = skipped = 0 }
/^=== / { next }
/^ *--- PASS: / { passed++; next }
/^ *--- FAIL: / { failed++ }
/^ *--- SKIP: / { skipped++; print last; print; fflush(); next }
/^\?.*\[no test files\]$/ || /^PASS$/ { next }
/^ok  \t/ { held = ""; print; fflush(); next }
/^FAIL\t/ { printf "%s%s\n", held, $0; held = ""; fflush(); next }
{ held = held $0 "\n"; last = $0 }
END {
	printf "%s", held
	printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
	exit skipped > 0 || passed == 0
}
