# frozen_string_literal: true

# What the environment says about Vagrant's machines, checked. The head of Vagrantfile lists the variables.

require "socket"

module Cbn
  WHEELHOUSE = "/srv/wheelhouse"
  LEAST_MEMORY = { lab: 2048, node: 1024 }.freeze
  # Made by building, or by running: the guest makes its own. And the history, which it does not need.
  MADE = %w[/.venv/ /build/ /runs/ /.vagrant/ /.git/ __pycache__/ .mypy_cache/ .ruff_cache/ .hypothesis/ .pytest_cache/].freeze
  # What the host has compiled goes along only with a box or a wheelhouse that it has made, too.
  COMPILED = %w[*.so /nodes/compiled.json].freeze
  # Of Debian 12.
  FITTING = "fastpath/**/*.cpython-311-x86_64-linux-gnu.so"

  SETTINGS = %i[box cpus memory nodes node_memory port libvirt_driver provisioner wheelhouse forwarded].freeze

  # The settings, one method each. What is wrong ends Vagrant with a line that says what and where.
  class Settings
    def initialize(environment, tree)
      @environment = environment
      @tree = tree
      # Vagrant reports what is wrong in clear words only if it is found before machines are described.
      SETTINGS.each { |name| public_send(name) }
    end

    def box
      box_file ? "cbn-lab-#{File.mtime(box_file).strftime('%Y%m%d%H%M%S')}" : named_box
    end

    def box_url
      box_file && "file://#{box_file}"
    end

    def cpus
      number("CBN_CPUS", 2, 1)
    end

    def memory
      number("CBN_MEMORY", 4096, LEAST_MEMORY[:lab])
    end

    def nodes
      number("CBN_NODES", 0, 0)
    end

    def node_memory
      number("CBN_NODE_MEMORY", 1536, LEAST_MEMORY[:node])
    end

    def port
      number("CBN_PORT", 8000, 1024)
    end

    def libvirt_pool
      text("CBN_LIBVIRT_POOL", "default")
    end

    def libvirt_cpu
      text("CBN_LIBVIRT_CPU", "Nehalem")
    end

    def libvirt_driver
      one_of("CBN_LIBVIRT_DRIVER", kvm_works? ? "kvm" : "qemu", %w[kvm qemu])
    end

    def provisioner
      one_of("CBN_PROVISIONER", ansible_here? ? "ansible" : "ansible_local", %w[ansible ansible_local])
    end

    def wheelhouse
      folder = text("CBN_WHEELHOUSE", nil) or return
      folder = File.expand_path(folder, @tree)
      return folder unless Dir.glob("#{folder}/*.whl").empty?

      refuse "CBN_WHEELHOUSE: #{folder} has no wheels; `make wheelhouse` makes build/wheelhouse"
    end

    def left_out
      [*MADE, "/fastpath/*/*.cpp", *(compiled? ? [] : COMPILED)]
    end

    # The variables of the host that installing in the guest sees.
    def forwarded
      names = text("CBN_FORWARD", "").split
      missing = names.reject { |name| @environment.key?(name) }
      refuse "CBN_FORWARD names variables that are not set: #{missing.join(', ')}" unless missing.empty?
      names.to_h { |name| [name, @environment.fetch(name)] }
    end

    # What the playbook is told about lab.
    def variables
      {
        cbn_host_user: "vagrant", cbn_host_directory: "/vagrant", cbn_host_bring: false, cbn_host_reports_port: 8000,
        cbn_host_environment: { **forwarded, **without_index, **without_compiling }
      }
    end

    # Before a machine is started: what would fail much later, or with less clear words.
    def check_host(machine, needed)
      return if machine.state.id == :running

      check_memory(machine.name, needed)
      check_port if machine.name == :lab
    end

    def check_node(machine)
      refuse "#{machine.name} is provisioned from this host, which has no Ansible: pip install '.[cluster]'" unless ansible_here?
      check_host(machine, node_memory)
    end

    private

    def compiled?
      (wheelhouse || box_file) && !Dir.glob(FITTING, base: @tree).empty?
    end

    def without_index
      wheelhouse ? { PIP_NO_INDEX: "1", PIP_FIND_LINKS: WHEELHOUSE } : {}
    end

    # `setup.py` compiles the modules that CBN_EXT names.
    def without_compiling
      compiled? ? { CBN_EXT: "none" } : {}
    end

    def refuse(problem)
      abort "Vagrantfile: #{problem}"
    end

    def text(name, default)
      value = @environment.fetch(name, "")
      value.empty? ? default : value
    end

    def number(name, default, least)
      given = text(name, default.to_s)
      return given.to_i if given.match?(/\A\d+\z/) && given.to_i >= least

      refuse "#{name} is #{given}; expected: a whole number, #{least} or more"
    end

    def one_of(name, default, known)
      given = text(name, default)
      known.include?(given) ? given : refuse("#{name} is #{given}; expected: #{known.join(' or ')}")
    end

    def named_box
      name = text("CBN_BOX", "debian/bookworm64")
      return name unless name.end_with?(".box")

      refuse "CBN_BOX: there is no file #{name}; `make box` makes build/lab.box"
    end

    def box_file
      path = File.expand_path(text("CBN_BOX", "none"), @tree)
      path if File.file?(path)
    end

    # /dev/kvm alone does not say that virtual machines can run.
    def kvm_works?
      File.writable?("/dev/kvm") && File.read("/proc/cpuinfo").match?(/\b(vmx|svm)\b/)
    end

    def ansible_here?
      @environment.fetch("PATH").split(":").any? { |folder| File.executable?("#{folder}/ansible-playbook") }
    end

    def check_memory(name, needed)
      available = File.exist?("/proc/meminfo") && File.read("/proc/meminfo")[/^MemAvailable:\s+(\d+)/, 1]
      return unless available && available.to_i / 1024 < needed

      refuse "#{name} takes #{needed} MiB and this host has #{available.to_i / 1024} MiB left: " \
             "stop something, or ask for less (CBN_MEMORY, CBN_NODE_MEMORY)"
    end

    def check_port
      TCPServer.new("127.0.0.1", port).close
    rescue Errno::EADDRINUSE
      refuse "port #{port} of this host is in use; choose another for lab's reports: CBN_PORT=8001 vagrant up lab"
    end
  end
end
