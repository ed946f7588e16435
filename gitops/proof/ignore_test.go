package proof

// ignoreScenarios are trees of which Flux leaves something out.
func ignoreScenarios() map[string]scenario {
	return map[string]scenario{
		".sourceignore over a staged file": {
			before: fleet.with(files{".sourceignore": "cluster-manager/\n"}), after: fleet.with(pool).with(files{".sourceignore": "cluster-manager/\n"}),
			refused: []string{"clusters/wc1/cluster-manager/gpu.yaml is left out of what Flux fetches by .sourceignore"},
		},
		"nested .sourceignore": {
			before: fleet.with(files{"clusters/wc1/.sourceignore": "gpu.yaml\n"}), after: fleet.with(pool).with(files{"clusters/wc1/.sourceignore": "gpu.yaml\n"}),
			refused: []string{"by clusters/wc1/.sourceignore"},
		},
		"spec.ignore": {
			before: fleet, after: fleet.with(pool), change: func(in *Input) { in.Target.Repository.Ignore = new("/clusters/*/cluster-manager/gpu.yaml") },
			refused: []string{"gpu.yaml is left out of what Flux fetches by spec.ignore of GitRepository flux/fleet"},
		},
		"spec.ignore takes back what .sourceignore leaves out": {
			before: fleet.with(files{".sourceignore": "gpu.yaml\n"}), after: fleet.with(pool).with(files{".sourceignore": "gpu.yaml\n"}),
			change: func(in *Input) { in.Target.Repository.Ignore = new("!gpu.yaml") },
			built:  true, objects: added("gpu"),
		},
		"an ignored file is no part of a generated tree": {
			before: generatedFleet.with(files{".sourceignore": "clusters/wc1/docs.yaml\n", "clusters/wc1/docs.yaml": "no object", "clusters/wc1/.sops.yaml": "creation_rules: []"}),
			after:  generatedFleet.with(ourFolder).with(files{".sourceignore": "clusters/wc1/docs.yaml\n", "clusters/wc1/docs.yaml": "no object", "clusters/wc1/.sops.yaml": "creation_rules: []"}),
			built:  true, objects: added("gpu"),
		},
	}
}
