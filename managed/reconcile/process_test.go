package reconcile

const otherProcess = "CLUSTER_MANAGER_TEST_OTHER_PROCESS"

func runOtherProcess() int { return 0 }
